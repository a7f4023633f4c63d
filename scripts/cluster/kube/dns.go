package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/net/dns/dnsmessage"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/clientcmd"
)

const domain = ".svc.cluster.local."

// directory knows the addresses of the cluster's services.
type directory struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
}

// newDNSCommand answers what pods ask about names: it knows those of the cluster's services, and no others.
func newDNSCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "dns IP:PORT KUBECONFIG",
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := watchServices(args[1])
			if err != nil {
				return err
			}
			conn, err := net.ListenPacket("udp4", args[0])
			if err != nil {
				return err
			}
			fmt.Println("listening on", conn.LocalAddr())
			// No question is longer, as it comes in one datagram that nothing may have to split.
			for buffer := make([]byte, 1500); ; {
				size, from, err := conn.ReadFrom(buffer)
				if err != nil {
					return err
				}
				if answer, err := known.answer(buffer[:size]); err == nil {
					_, _ = conn.WriteTo(answer, from)
				}
			}
		},
	}
}

// watchServices returns when it knows all services that there are now; it learns of later ones by itself.
func watchServices(kubeconfig string) (*directory, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	known := &directory{
		services: factory.Core().V1().Services().Lister(),
		slices:   factory.Discovery().V1().EndpointSlices().Lister(),
	}
	forever := context.Background().Done()
	factory.Start(forever)
	factory.WaitForCacheSync(forever)
	return known, nil
}

// answer answers the first question of a message. An error means that there is none.
func (d *directory) answer(message []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(message)
	if err != nil {
		return nil, err
	}
	question, err := parser.Question()
	if err != nil {
		return nil, err
	}
	header.Response, header.Authoritative, header.RecursionAvailable = true, true, true
	addresses, found := d.find(strings.ToLower(question.Name.String()))
	if !found {
		header.RCode = dnsmessage.RCodeNameError
	}
	reply := dnsmessage.Message{Header: header, Questions: []dnsmessage.Question{question}}
	for _, address := range addresses {
		ip := net.ParseIP(address).To4()
		if ip == nil || question.Type != dnsmessage.TypeA {
			continue
		}
		reply.Answers = append(reply.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte(ip)},
		})
	}
	return reply.Pack()
}

// find returns the addresses of SERVICE.NAMESPACE, or of the one pod HOSTNAME.SERVICE.NAMESPACE, and whether there is
// such a name.
func (d *directory) find(name string) ([]string, bool) {
	short, ours := strings.CutSuffix(name, domain)
	parts := strings.Split(short, ".")
	if !ours || len(parts) < 2 || len(parts) > 3 {
		return nil, false
	}
	service, err := d.services.Services(parts[len(parts)-1]).Get(parts[len(parts)-2])
	if err != nil {
		return nil, false
	}
	if len(parts) == 3 {
		addresses := d.endpoints(service, &parts[0])
		return addresses, len(addresses) > 0
	}
	if service.Spec.ClusterIP == core.ClusterIPNone {
		return d.endpoints(service, nil), true
	}
	return []string{service.Spec.ClusterIP}, true
}

// endpoints returns the addresses of the pods behind a service, or of those with one host name, that may be used.
func (d *directory) endpoints(service *core.Service, hostname *string) (addresses []string) {
	slices, err := d.slices.EndpointSlices(service.Namespace).List(labels.Set{
		discovery.LabelServiceName: service.Name,
	}.AsSelector())
	if err != nil {
		return nil
	}
	for _, slice := range slices {
		for _, endpoint := range slice.Endpoints {
			ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
			named := hostname == nil || endpoint.Hostname != nil && *endpoint.Hostname == *hostname
			if ready && named {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	return addresses
}
