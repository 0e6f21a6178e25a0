package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controllermanageroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// defaultControllers leaves out what needs real nodes, volumes or metrics.
const defaultControllers = "deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller," +
	"job-controller,endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller," +
	"garbage-collector-controller,pod-garbage-collector-controller,namespace-controller,disruption-controller," +
	"serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller," +
	"clusterrole-aggregation-controller,validatingadmissionpolicy-status-controller,resourcequota-controller"

// runWorkers runs all that works against the API, until signalled. It outlives outages of the API, as in a cluster.
func runWorkers(signalled context.Context, c *cluster, h *hollow) error {
	if err := c.readCredentials(); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(signalled)
	clients := newGroup(fail)
	defer clients.stop()
	if err := c.waitForAPI(ctx); err != nil {
		return err
	}
	if c.controllers != "" {
		if err := c.startControllers(clients); err != nil {
			return fmt.Errorf("kube-controller-manager: %w", err)
		}
	}
	if c.schedulers != "" {
		if err := c.startScheduler(clients); err != nil {
			return fmt.Errorf("kube-scheduler: %w", err)
		}
	}
	if err := h.start(ctx, c, clients); err != nil {
		return fmt.Errorf("hollow kubelet: %w", err)
	}
	if c.controllers != "" { // pods need their namespace's service account
		if err := waitFor(ctx, "the default service account", func(ctx context.Context) bool {
			_, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
			return err == nil
		}); err != nil {
			return err
		}
	}
	c.announce(map[string]any{"nodes": h.nodes})
	return ended(ctx, signalled)
}

func (c *cluster) startControllers(g *group) error {
	o, err := controllermanageroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	known, disabled, aliases := controllermanager.KnownControllers(), controllermanager.ControllersDisabledByDefault(), controllermanager.ControllerAliases()
	sets := o.Flags(known, disabled, aliases)
	o.ParsedFlags = &sets
	if err := parse(&sets,
		"--kubeconfig="+c.kubeconfig, "--kube-api-qps=1000", "--kube-api-burst=2000",
		"--secure-port=0", "--leader-elect=false", "--controllers="+c.controllers,
		"--root-ca-file="+c.path("apiserver.crt"), "--service-account-private-key-file="+c.path("sa.key"),
	); err != nil {
		return err
	}
	config, err := o.Config(g.ctx, known, disabled, aliases)
	if err != nil {
		return err
	}
	g.run("kube-controller-manager", func(ctx context.Context) error { return controllermanager.Run(ctx, config.Complete()) })
	return nil
}

func (c *cluster) startScheduler(g *group) error {
	config := fmt.Sprintf("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+
		"leaderElection: {leaderElect: false}\nclientConnection: {kubeconfig: %q, qps: 1000, burst: 2000}\nprofiles:\n", c.kubeconfig)
	for name := range strings.SplitSeq(c.schedulers, ",") {
		config += fmt.Sprintf("- schedulerName: %q\n", name)
	}
	if err := os.WriteFile(c.path("scheduler.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	o := scheduleroptions.NewOptions()
	if err := parse(o.Flags, "--config="+c.path("scheduler.yaml"), "--secure-port=0"); err != nil {
		return err
	}
	completed, s, err := scheduler.Setup(g.ctx, o)
	if err != nil {
		return err
	}
	g.run("kube-scheduler", func(ctx context.Context) error { return scheduler.Run(ctx, completed, s) })
	return nil
}
