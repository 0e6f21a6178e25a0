package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// readyAfter on a pod delays its readiness by a duration such as "5s", or for
// ever if it is "never". The kubelet writes a pod's status when its containers
// start, end or change readiness, and leaves later edits of it alone.
const readyAfter = "test/ready-after"

// hollow plays kubelet for every pod that is bound to a node, whoever created
// the node. It gives each pod a loopback address and, with podExec, runs that
// command for each of the pod's containers as its restart policy says: with the
// container's env, POD_NAME, POD_NAMESPACE, POD_IP, NODE_NAME, CONTAINER_NAME,
// and CONTAINER_JSON (the container's spec), until the pod is deleted.
type hollow struct {
	nodes                 int
	gpus, podExec, ipBase string

	c     *cluster
	group *group
	mu    sync.Mutex
	byID  map[types.UID]*hollowPod
	next  netip.Addr
}

type hollowPod struct {
	*corev1.Pod
	ip         string
	running    context.Context // until the pod is to be stopped
	stop       context.CancelFunc
	grace      time.Duration
	deletion   sync.Once
	containers sync.WaitGroup

	mu        sync.Mutex
	status    corev1.PodStatus
	unwritten int // changes of the status since the API last held all of it
}

func (h *hollow) start(ctx context.Context, c *cluster, g *group) (err error) {
	if h.next, err = netip.ParseAddr(h.ipBase); err != nil {
		return err
	}
	h.c, h.group, h.byID = c, g, map[types.UID]*hollowPod{}
	for i := range h.nodes {
		if err := h.createNode(ctx, fmt.Sprintf("node-%d", i), fmt.Sprintf("zone-%c", 'a'+i%2)); err != nil {
			return err
		}
	}
	informer := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithTweakListOptions(
		func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName!=" })).Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { h.sync(g, o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { h.sync(g, o.(*corev1.Pod)) },
		DeleteFunc: func(o any) { // by force, or by ourselves
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if p := h.byID[o.(*corev1.Pod).UID]; p != nil {
				p.stop()
				delete(h.byID, p.UID)
			}
		},
	}); err != nil {
		return err
	}
	g.run("hollow kubelet", func(ctx context.Context) error { informer.RunWithContext(ctx); return errors.New("informer stopped") })
	return nil
}

func (h *hollow) createNode(ctx context.Context, name, zone string) error {
	amount, now := corev1.ResourceList{}, metav1.Now()
	for k, v := range map[corev1.ResourceName]string{"cpu": "64", "memory": "1Ti", "ephemeral-storage": "1Ti", "pods": "250", "nvidia.com/gpu": h.gpus} {
		q, err := resource.ParseQuantity(v)
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
		amount[k] = q
	}
	_, err := h.c.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": zone}},
		Status: corev1.NodeStatus{Capacity: amount, Allocatable: amount,
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now}}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// sync starts a pod that is new and stops one that is being deleted.
func (h *hollow) sync(g *group, pod *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, begin := h.byID[pod.UID], false
	if p == nil {
		begin = pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil
		p = &hollowPod{Pod: pod}
		p.running, p.stop = context.WithCancel(g.ctx)
		h.byID[pod.UID] = p
	}
	if begin {
		h.next = h.next.Next()
		for b := h.next.As4(); b[3] == 0 || b[3] == 255; b = h.next.As4() {
			h.next = h.next.Next()
		}
		p.ip = h.next.String()
		g.Go(func() { h.runPod(p); p.containers.Wait() })
	}
	if pod.DeletionTimestamp != nil {
		g.Go(func() {
			p.deletion.Do(func() {
				if s := pod.DeletionGracePeriodSeconds; s != nil {
					p.grace = time.Duration(*s) * time.Second
				}
				p.stop()
				p.containers.Wait()
				untilDone(g.ctx, "Deleting", pod, func() error {
					return h.c.client.CoreV1().Pods(pod.Namespace).Delete(g.ctx, pod.Name,
						metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
				})
			})
		})
	}
}

func (h *hollow) runPod(p *hollowPod) {
	now := metav1.Now()
	p.status = corev1.PodStatus{StartTime: &now, HostIP: "127.0.0.1", HostIPs: []corev1.HostIP{{IP: "127.0.0.1"}}, PodIP: p.ip, PodIPs: []corev1.PodIP{{IP: p.ip}}}
	for _, c := range p.Spec.InitContainers {
		state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}}
		if c.RestartPolicy != nil { // a sidecar
			state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
		}
		p.status.InitContainerStatuses = append(p.status.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true, State: state})
	}
	for _, c := range p.Spec.Containers {
		p.status.ContainerStatuses = append(p.status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image})
	}
	for i := range p.Spec.Containers {
		if h.podExec != "" {
			p.containers.Go(func() { h.runContainer(p, i) })
		} else {
			h.set(p, i, p.Annotations[readyAfter] == "", nil)
		}
	}
	if after, err := time.ParseDuration(p.Annotations[readyAfter]); h.podExec == "" && err == nil && sleep(p.running, after) {
		for i := range p.Spec.Containers {
			h.set(p, i, true, nil)
		}
	}
}

func (h *hollow) runContainer(p *hollowPod, i int) {
	for backoff := time.Second; ; backoff = min(2*backoff, 30*time.Second) {
		started := metav1.Now()
		code := h.exec(p, i)
		if p.running.Err() != nil {
			return
		}
		h.set(p, i, false, &corev1.ContainerStateTerminated{ExitCode: int32(code), StartedAt: started, FinishedAt: metav1.Now()})
		if !restarts(p, code) || !sleep(p.running, backoff) {
			return
		}
	}
}

func restarts(p *hollowPod, code int) bool {
	return p.Spec.RestartPolicy == corev1.RestartPolicyAlways || p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && code != 0
}

// exec runs a container's command until it ends by itself or is stopped.
func (h *hollow) exec(p *hollowPod, i int) (code int) {
	c := &p.Spec.Containers[i]
	log, err := os.OpenFile(h.c.path(fmt.Sprintf("%s_%s_%s.log", p.Namespace, p.Name, c.Name)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		klog.ErrorS(err, "Container log")
		return 128
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", "-c", h.podExec)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), h.environment(p, c)...), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		klog.ErrorS(err, "Container start")
		return 128
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	ready := c.ReadinessProbe == nil
	h.set(p, i, ready, nil)
	for {
		select {
		case <-ended:
			return cmd.ProcessState.ExitCode()
		case <-p.running.Done():
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			select {
			case <-ended:
			case <-time.After(p.grace):
			}
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
			return 137
		case <-time.After(time.Second):
			if now := c.ReadinessProbe == nil || probe(p, c); now != ready {
				ready = now
				h.set(p, i, ready, nil)
			}
		}
	}
}

// probe carries out an httpGet readiness probe; other kinds count as passed.
func probe(p *hollowPod, c *corev1.Container) bool {
	get := c.ReadinessProbe.HTTPGet
	if get == nil {
		return true
	}
	port := get.Port.IntValue()
	for _, named := range c.Ports {
		if named.Name != "" && named.Name == get.Port.StrVal {
			port = int(named.ContainerPort)
		}
	}
	client := http.Client{Timeout: time.Duration(max(c.ReadinessProbe.TimeoutSeconds, 1)) * time.Second}
	res, err := client.Get(fmt.Sprintf("http://%s:%d%s", p.ip, port, get.Path))
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode >= 200 && res.StatusCode < 400
}

func (h *hollow) environment(p *hollowPod, c *corev1.Container) (env []string) {
	vars := map[string]string{}
	expand := func(s string) string { return expansion.Expand(s, expansion.MappingFuncFor(vars)) }
	add := func(name, value string) { vars[name] = value; env = append(env, name+"="+value) }
	for _, e := range c.Env {
		value := expand(e.Value)
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			switch path := e.ValueFrom.FieldRef.FieldPath; path {
			case "status.podIP", "status.podIPs":
				value = p.ip
			case "status.hostIP", "status.hostIPs":
				value = "127.0.0.1"
			case "spec.nodeName":
				value = p.Spec.NodeName
			case "spec.serviceAccountName":
				value = p.Spec.ServiceAccountName
			default:
				value, _ = fieldpath.ExtractFieldPathAsString(p.Pod, path)
			}
		}
		add(e.Name, value)
	}
	c = c.DeepCopy()
	for _, list := range [][]string{c.Command, c.Args} {
		for i := range list {
			list[i] = expand(list[i])
		}
	}
	spec, _ := json.Marshal(c)
	for _, kv := range [][2]string{{"POD_NAME", p.Name}, {"POD_NAMESPACE", p.Namespace}, {"POD_IP", p.ip}, {"NODE_NAME", p.Spec.NodeName},
		{"CONTAINER_NAME", c.Name}, {"CONTAINER_JSON", string(spec)}, {"KUBECONFIG", h.c.kubeconfig}} {
		add(kv[0], kv[1])
	}
	return env
}

// set notes that container i runs, or how it ended, and writes the pod's status.
func (h *hollow) set(p *hollowPod, i int, ready bool, end *corev1.ContainerStateTerminated) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, running, c := metav1.Now(), end == nil, &p.status.ContainerStatuses[i]
	c.Ready, c.Started = ready, &running
	if end != nil {
		c.State, c.LastTerminationState = corev1.ContainerState{Terminated: end}, corev1.ContainerState{Terminated: end}
	} else if c.State.Running == nil {
		if c.State.Terminated != nil {
			c.RestartCount++
		}
		c.ContainerID = fmt.Sprintf("hollow://%s-%s-%d", p.UID, c.Name, c.RestartCount)
		c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	}
	p.status.Phase = corev1.PodSucceeded
	for _, c := range p.status.ContainerStatuses {
		ready = ready && c.Ready
		if t := c.State.Terminated; t == nil || restarts(p, int(t.ExitCode)) {
			p.status.Phase = corev1.PodRunning
		} else if t.ExitCode != 0 && p.status.Phase == corev1.PodSucceeded {
			p.status.Phase = corev1.PodFailed
		}
	}
	p.status.Conditions = nil
	for kind, ok := range map[corev1.PodConditionType]bool{corev1.PodReadyToStartContainers: true, corev1.PodInitialized: true,
		corev1.ContainersReady: ready, corev1.PodReady: ready} {
		cond := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: now}
		if ok {
			cond.Status = corev1.ConditionTrue
		}
		p.status.Conditions = append(p.status.Conditions, cond)
	}
	p.unwritten++
	if p.unwritten == 1 {
		h.group.Go(func() { h.publish(p) })
	}
}

// publish writes a pod's status until the API holds the newest one.
func (h *hollow) publish(p *hollowPod) {
	untilDone(p.running, "Status", p.Pod, func() error {
		for {
			p.mu.Lock()
			version := p.unwritten
			patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": p.status})
			p.mu.Unlock()
			_, err := h.c.client.CoreV1().Pods(p.Namespace).Patch(p.running, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			if err != nil {
				return err
			}
			p.mu.Lock()
			isNewest := p.unwritten == version
			if isNewest {
				p.unwritten = 0
			}
			p.mu.Unlock()
			if isNewest {
				return nil
			}
		}
	})
}

// untilDone tries a write again while the API is away, as a kubelet does. A pod that is gone, or another one by now, ends it.
func untilDone(ctx context.Context, what string, pod *corev1.Pod, write func() error) {
	for {
		err := write()
		if err == nil || ctx.Err() != nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
			return
		}
		klog.ErrorS(err, what, "pod", klog.KObj(pod))
		if !sleep(ctx, 500*time.Millisecond) {
			return
		}
	}
}
