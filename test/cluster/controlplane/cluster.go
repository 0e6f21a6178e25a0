package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
)

// cluster is what both halves know of it.
type cluster struct {
	dir, kubeconfig, controllers, schedulers string
	etcd                                     string
	config                                   *rest.Config
	client                                   *kubernetes.Clientset
	begun                                    time.Time
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) waitForAPI(ctx context.Context) error {
	return waitFor(ctx, "/readyz", func(ctx context.Context) bool {
		return c.client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
	})
}

// announce prints the one line that says that this half can be used.
func (c *cluster) announce(facts map[string]any) {
	facts["version"], facts["readyMs"] = version.Get().GitVersion, time.Since(c.begun).Milliseconds()
	_ = json.NewEncoder(os.Stdout).Encode(facts)
}

// ended waits until a signal, or until a part fails.
func ended(ctx, signalled context.Context) error {
	<-ctx.Done()
	if signalled.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

// waitFor polls until done, or until ctx ends.
func waitFor(ctx context.Context, what string, done func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, fmt.Errorf("timed out waiting for %s", what))
	defer cancel()
	for !done(ctx) {
		if !sleep(ctx, 50*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// parse sets options as the component's own command line would.
func parse(sets *cliflag.NamedFlagSets, args ...string) error {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, f := range sets.FlagSets {
		fs.AddFlagSet(f)
	}
	return fs.Parse(args)
}

func logTo(file, verbosity string) {
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	fs := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(fs)
	for k, v := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL", "log_file": file, "v": verbosity} {
		_ = fs.Set(k, v)
	}
}

// group is a set of goroutines that are stopped together.
type group struct {
	sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
	fail   context.CancelCauseFunc
}

func newGroup(fail context.CancelCauseFunc) *group {
	g := &group{fail: fail}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// run runs what must not end before the group is stopped.
func (g *group) run(name string, f func(context.Context) error) {
	g.Go(func() {
		if err := f(g.ctx); g.ctx.Err() == nil {
			g.fail(fmt.Errorf("%s ended: %v", name, err))
		}
	})
}

// stop does not wait for long: the apiserver takes a minute if a watch is open.
func (g *group) stop() { g.cancel(); within(2*time.Second, g.Wait) }

func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
