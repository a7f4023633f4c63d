// Command kube is five programs of Kubernetes in one, and what else the node of the test cluster needs: it is the one
// that it is called as.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	// The programs are told to count what they do, and each main of Kubernetes says how.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": manager.NewControllerManagerCommand,
	"kube-proxy":              proxy.NewProxyCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"dns":                     newDNSCommand,
	"node":                    newNodeCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	program, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "no program is called %s: call me by a link that has the name of one\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(program()))
}
