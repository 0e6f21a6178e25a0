package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// runAPI serves the API until signalled. What was stored in c.dir before is served again, at the same address and with the same credentials.
func runAPI(signalled context.Context, c *cluster) error {
	// Each layer is stopped before the one below it.
	stopEtcd, err := c.startEtcd(signalled)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer stopEtcd()
	ctx, fail := context.WithCancelCause(signalled)
	server := newGroup(fail)
	defer server.stop()
	if err := c.startAPIServer(server); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := c.waitForAPI(ctx); err != nil {
		return err
	}
	c.announce(map[string]any{"server": c.config.Host, "kubeconfig": c.kubeconfig, "token": c.config.BearerToken})
	return ended(ctx, signalled)
}

func (c *cluster) startEtcd(ctx context.Context) (stop func(), err error) {
	// A Unix socket needs no free port. Its path has to stay below 108 bytes. An earlier run that was killed has left it.
	socket := c.path("etcd.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	client, unused := url.URL{Scheme: "unix", Path: socket}, []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c.etcd = client.String()
	cfg := embed.NewConfig()
	cfg.Dir = c.path("etcd")
	cfg.LogLevel, cfg.LogOutputs = "error", []string{c.path("etcd.log")}
	cfg.UnsafeNoFsync = true // the data need not outlive the machine
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, unused
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = unused, unused
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	stop = func() { within(time.Second, e.Close) }
	select {
	case <-e.Server.ReadyNotify():
		return stop, nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	stop()
	return nil, err
}

func (c *cluster) startAPIServer(g *group) error {
	listener, err := net.Listen("tcp4", c.address())
	if err != nil {
		return err
	}
	if err := c.keepCredentials("https://" + listener.Addr().String()); err != nil {
		return err
	}
	o := apiserveroptions.NewServerRunOptions()
	o.SecureServing.Listener, o.SecureServing.BindPort = listener, listener.Addr().(*net.TCPAddr).Port
	sets := o.Flags()
	if err := parse(&sets,
		"--etcd-servers="+c.etcd,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file="+c.path("apiserver.crt"), "--tls-private-key-file="+c.path("apiserver.key"),
		"--token-auth-file="+c.path("tokens.csv"), "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.path("sa.key"), "--service-account-signing-key-file="+c.path("sa.key"),
		// Without kube-proxy, webhooks that name a Service are called at its endpoints.
		"--enable-aggregator-routing=true",
		// No node lifecycle controller would take the taint away.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--allow-privileged=true", "--profiling=false",
	); err != nil {
		return err
	}
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	completed, err := o.Complete(g.ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return errors.Join(errs...)
	}
	g.run("kube-apiserver", func(ctx context.Context) error { return apiserver.Run(ctx, completed) })
	return nil
}
