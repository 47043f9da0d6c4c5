package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// forwardTime is how long kubectl may take to reach the pod. With a plug-in that
// authenticates it takes a few seconds.
const forwardTime = 20 * time.Second

// Names of namespaces and pods: labels of DNS, so never a flag of kubectl.
var (
	podName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	localPort = regexp.MustCompile(`(?m)^Forwarding from 127\.0\.0\.1:([0-9]+) -> `)
)

// Pod forwards a free local port to a port of a pod of Kubernetes, as "kubectl
// port-forward" does, and returns the local address for [At]. The pod is "name" or
// "namespace/name", either with ":port"; otherwise port is used, or 6060 if that is 0.
// The cluster is the current context of kubectl.
//
// stop ends kubectl and waits for it; so does the end of ctx, but without waiting. stop
// returns an error if kubectl had ended before, as when the pod was deleted: then
// requests to the address fail.
func Pod(ctx context.Context, pod string, port int) (target string, stop func() error, err error) {
	args, err := forwardArgs(pod, port)
	if err != nil {
		return "", nil, err
	}
	f, err := startForward(ctx, args)
	if err != nil {
		return "", nil, err
	}
	timer := time.NewTimer(forwardTime)
	defer timer.Stop()
	select {
	case local := <-f.port:
		return "127.0.0.1:" + local, f.stop, nil
	case <-f.ended:
	case <-ctx.Done():
	case <-timer.C:
		err = fmt.Errorf("did not reach the pod within %s", forwardTime)
	}
	ended := f.stop()
	if err != nil {
		ended = f.failure(err)
	}
	return "", nil, cmp.Or(ctx.Err(), ended)
}

// A forward is kubectl while it runs. It is the writer of both its outputs.
type forward struct {
	ctx    context.Context
	end    context.CancelFunc
	port   chan string   // the local port
	output []byte        // the end of what it wrote
	ended  chan struct{} // closed when kubectl has ended
	why    error         // why it did; after ended
}

func startForward(ctx context.Context, args []string) (*forward, error) {
	f := &forward{port: make(chan string, 1), ended: make(chan struct{})}
	f.ctx, f.end = context.WithCancel(ctx)
	command := exec.CommandContext(f.ctx, "kubectl", args...)
	command.WaitDelay = time.Second // its children may hold the pipes open
	command.Stdout, command.Stderr = f, f
	if err := command.Start(); err != nil {
		f.end()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			err = errors.New("kubectl is not in PATH: forward the port of the pod by other means, and give the local address")
		}
		return nil, err
	}
	go func() {
		defer close(f.ended)
		f.why = command.Wait()
	}()
	return f, nil
}

// maxOutput is how much of the output is kept, in bytes.
const maxOutput = 4 << 10

func (f *forward) Write(p []byte) (int, error) {
	f.output = append(f.output, p...)
	if m := localPort.FindSubmatch(f.output); m != nil {
		select {
		case f.port <- string(m[1]):
		default:
		}
	}
	f.output = f.output[max(0, len(f.output)-maxOutput):]
	return len(p), nil
}

// stop ends kubectl, and returns an error if it had ended by itself.
func (f *forward) stop() error {
	select {
	case <-f.ended:
		if f.ctx.Err() == nil {
			return f.failure(cmp.Or(f.why, errors.New("ended")))
		}
	default:
	}
	f.end()
	<-f.ended
	return nil
}

// failure adds the last message of kubectl, which has ended, to an error.
func (f *forward) failure(err error) error {
	last := ""
	for line := range strings.Lines(string(f.output)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Handling connection") && !strings.HasPrefix(line, "Forwarding from") {
			last = ": " + format.Clean(line)
		}
	}
	return fmt.Errorf("kubectl port-forward: %w%s", err, last)
}

// forwardArgs returns the arguments of kubectl.
func forwardArgs(pod string, port int) ([]string, error) {
	path, after, hasPort := strings.Cut(pod, ":")
	namespace, name, inNamespace := strings.Cut(path, "/")
	if !inNamespace {
		name = path
	}
	if !podName.MatchString(name) || inNamespace && !podName.MatchString(namespace) {
		return nil, fmt.Errorf("invalid pod %q (want name, namespace/name or namespace/name:port)", pod)
	}
	port = cmp.Or(port, 6060)
	if hasPort {
		var err error
		if port, err = strconv.Atoi(after); err != nil {
			port = 0
		}
	}
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("invalid port of the pod %q (want a number from 1 to 65535)", pod)
	}
	args := []string{"port-forward", "--address=127.0.0.1"}
	if inNamespace {
		args = append(args, "--namespace="+namespace)
	}
	return append(args, "pod/"+name, ":"+strconv.Itoa(port)), nil
}
