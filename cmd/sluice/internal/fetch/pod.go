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
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// forwardTime is how long kubectl may take to reach the pod. With a plug-in that
// authenticates it takes a few seconds.
const forwardTime = 20 * time.Second

// The names of a pod and its namespace are labels of DNS, so never a flag of kubectl.
var (
	podForm   = regexp.MustCompile(`^(?:([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)/)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([0-9]+))?$`)
	localPort = regexp.MustCompile(`(?m)^Forwarding from 127\.0\.0\.1:([0-9]+) -> `)
)

// Pod forwards a free local port to a port of a pod of Kubernetes, as "kubectl
// port-forward" does, and returns the local address for [At]. The pod is "name" or
// "namespace/name", either with ":port"; otherwise it is port 6060. The cluster is the
// current context of kubectl.
//
// stop ends kubectl and waits for it; so does the end of ctx, but without waiting. If
// kubectl ends before, as when the pod is deleted, requests to the address fail.
func Pod(ctx context.Context, pod string) (target string, stop func(), err error) {
	args, err := forwardArgs(pod)
	if err != nil {
		return "", nil, err
	}
	running, end := context.WithCancel(ctx)
	command := exec.CommandContext(running, "kubectl", args...)
	command.WaitDelay = time.Second // its children may hold the pipes open
	f := &forward{port: make(chan string, 1)}
	command.Stdout, command.Stderr = f, f
	if err := command.Start(); err != nil {
		end()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			err = errors.New("kubectl is not in PATH: forward the port of the pod by other means, and give the local address")
		}
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmp.Or(command.Wait(), errors.New("ended")) }()
	stop = sync.OnceFunc(func() {
		end()
		<-ended
	})
	select {
	case local := <-f.port:
		return "127.0.0.1:" + local, stop, nil
	case err = <-ended:
		end()
	case <-ctx.Done():
		stop()
	case <-time.After(forwardTime):
		stop()
		err = fmt.Errorf("did not reach the pod within %s", forwardTime)
	}
	return "", nil, cmp.Or(ctx.Err(), fmt.Errorf("kubectl port-forward: %w%s", err, f.last()))
}

// A forward is the writer of both outputs of kubectl.
type forward struct {
	port   chan string // the local port
	output []byte      // the end of what it wrote
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

// last returns the last message of kubectl, which has ended.
func (f *forward) last() (message string) {
	for line := range strings.Lines(string(f.output)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Forwarding from") {
			message = ": " + format.Clean(line)
		}
	}
	return message
}

// forwardArgs returns the arguments of kubectl.
func forwardArgs(pod string) ([]string, error) {
	m := podForm.FindStringSubmatch(pod)
	if m == nil {
		return nil, fmt.Errorf("invalid pod %q (want name, namespace/name or namespace/name:port)", pod)
	}
	port, err := strconv.ParseUint(cmp.Or(m[3], "6060"), 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("invalid port of the pod %q (want a number from 1 to 65535)", pod)
	}
	args := []string{"port-forward", "--address=127.0.0.1"}
	if m[1] != "" {
		args = append(args, "--namespace="+m[1])
	}
	return append(args, "pod/"+m[2], ":"+strconv.FormatUint(port, 10)), nil
}
