package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// The file descriptor that it inherits, of the machine's network namespace.
const outside = 3

// Who enters the namespaces of a process enters those of its first thread, which therefore has to stay here.
func init() { runtime.LockOSThread() }

// newNodeCommand holds the namespaces that it was started in, which are those of the cluster's node. What is in them
// reaches one address of the machine, the registry's, as if it were here: images are named after it.
func newNodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "node IP:PORT",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			listener, err := net.Listen("tcp", args[0])
			if err != nil {
				return err
			}
			for {
				near, err := listener.Accept()
				if err != nil {
					return err
				}
				go carry(near, args[0])
			}
		},
	}
}

// carry copies both ways until both sides have said that this was all.
func carry(near net.Conn, address string) {
	defer near.Close()
	far, err := dialOutside(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer far.Close()
	done := make(chan struct{})
	go func() {
		copyAll(far, near)
		close(done)
	}()
	copyAll(near, far)
	<-done
}

func copyAll(to, from net.Conn) {
	// An error ends this as the end of what there is to copy does.
	_, _ = io.Copy(to, from)
	_ = to.(*net.TCPConn).CloseWrite()
}

// dialOutside connects from the machine's network namespace.
func dialOutside(address string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// It is never unlocked: a thread that is elsewhere ends with its goroutine.
		runtime.LockOSThread()
		if err = unix.Setns(outside, unix.CLONE_NEWNET); err == nil {
			conn, err = net.Dial("tcp", address)
		}
	}()
	<-done
	return conn, err
}
