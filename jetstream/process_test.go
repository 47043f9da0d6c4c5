//go:build unix

package jetstream

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// A process is this test binary in another role. It ends with its test at the
// latest, even if the test fails: a process that lives on would keep the output of
// go test open.
type process struct {
	t     testing.TB
	role  role
	cmd   *exec.Cmd
	input io.Closer
	ended chan struct{} // closed at the end of its output
	wait  func() error

	mu    sync.Mutex
	lines []string
	may   bool // it may end
}

// begin starts a process.
func begin(t testing.TB, r role) *process {
	t.Helper()
	suite.Needs(t, "processes that are killed")
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	command := []string{cmp.Or(r.Program, os.Args[0])}
	if r.Namespace != "" {
		command = append([]string{"ip", "netns", "exec", r.Namespace}, command...)
	}
	p := &process{t: t, role: r, cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	input, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.input = input
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait = sync.OnceValue(func() error {
		<-p.ended
		return p.cmd.Wait()
	})
	go p.read(output)
	t.Cleanup(p.kill)
	return p
}

// read keeps what the process prints. A process that ends too early has failed, and
// reports the cause on stderr.
func (p *process) read(output io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if drained := len(p.lines) > 0 && p.lines[len(p.lines)-1] == theEnd; !p.may && !drained {
		p.t.Errorf("%v ended too early", p)
	}
}

// theEnd is the last line of a receiver from a channel that is closed and drained.
var theEnd = "=" + sluice.ErrClosed.Error()

func (p *process) String() string {
	return fmt.Sprintf("%s %s%d (process %d)", p.role.Kind, p.role.Server.Name, p.role.Number, p.cmd.Process.Pid)
}

// mayEnd allows the process to end.
func (p *process) mayEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.may = true
}

// finish closes the input of the process, and waits for it. If it does not end, its
// stacks are on stderr.
func (p *process) finish() error {
	p.mayEnd()
	_ = p.input.Close()
	select {
	case <-p.ended:
	case <-patient(p.t).Done():
		p.t.Errorf("%v has not ended", p)
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	}
	return p.wait()
}

// kill is kill -9. The process may have ended already.
func (p *process) kill() {
	p.mayEnd()
	_ = p.cmd.Process.Kill()
	_ = p.wait()
}

// until waits until the condition is true for the process, and fails if the process
// ends first.
func (p *process) until(what string, is func() bool) {
	p.t.Helper()
	until(p.t, fmt.Sprintf("%v: %s", p, what), func() bool {
		if is() {
			return true
		}
		select {
		case <-p.ended:
			if !is() { // and its last output does not make it true
				p.t.Fatalf("%v has ended: %s", p, what)
			}
			return true
		default:
			return false
		}
	})
}

func (p *process) printed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// untilEnd waits until a receiver reports that the channel is closed and drained, which may
// take as long as the receiver makes progress.
func (p *process) untilEnd() {
	p.t.Helper()
	for over := false; !over; {
		from := p.count()
		p.until("it reports the end", func() bool {
			lines := p.printed()
			over = len(lines) > 0 && lines[len(lines)-1] == theEnd
			return over || len(lines) >= from+10
		})
	}
}
