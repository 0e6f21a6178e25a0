// Command controlplane runs a real Kubernetes control plane for tests, without a container runtime, on loopback addresses only, as two
// processes over one directory: "api" is etcd and kube-apiserver, "workers" are kube-controller-manager, kube-scheduler, and a hollow
// kubelet that plays the nodes. Either can be stopped and started again by itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const usage = "usage: controlplane api|workers --dir DIR [flags]"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	c, h := cluster{begun: time.Now()}, hollow{}
	if len(args) == 0 || args[0] != "api" && args[0] != "workers" {
		return fmt.Errorf(usage)
	}
	half := args[0]
	flags := flag.NewFlagSet(half, flag.ExitOnError)
	flags.StringVar(&c.dir, "dir", "", "state directory; what it holds is taken up again")
	stdin := flags.Bool("exit-on-stdin-eof", false, "also exit when stdin is closed, so as not to outlive the test runner")
	verbosity := flags.String("v", "0", "log verbosity")
	if half == "workers" {
		flags.StringVar(&c.controllers, "controllers", defaultControllers, "what kube-controller-manager runs; empty: no controller manager")
		flags.StringVar(&c.schedulers, "schedulers", "default-scheduler,volcano", "schedulerNames that kube-scheduler serves; empty: no scheduler")
		flags.IntVar(&h.nodes, "nodes", 2, "fake nodes to create (tests may create more)")
		flags.StringVar(&h.gpus, "gpus", "8", "allocatable nvidia.com/gpu of each fake node")
		flags.StringVar(&h.podExec, "pod-exec", "", "shell command to run for each container (see hollow.go); empty: pods just become ready")
		flags.StringVar(&h.ipBase, "pod-ip-base", "127.100.0.0", "pod addresses are given out upwards from here")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if c.dir == "" {
		return fmt.Errorf(usage)
	}
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	c.kubeconfig = c.path("kubeconfig")
	logTo(c.path(half+".log"), *verbosity)

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if *stdin {
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	}
	if half == "api" {
		return runAPI(ctx, &c)
	}
	return runWorkers(ctx, &c, &h)
}
