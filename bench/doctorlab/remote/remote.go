// Package remote has what services of the lab talk to: other processes, which are this
// program once more. A child ends when its parent does.
//
//   - a backend answers HTTP requests and messages over TCP after a delay;
//   - visitors send HTTP requests, each after the answer to the last one;
//   - neighbors use the CPU.
package remote

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// variable has the kind of a child and its argument.
const variable = "SCENARIO_CHILD"

// kinds are what a child does, with an argument.
var kinds = map[string]func(argument string){"backend": backend, "visitors": visitors, "neighbors": neighbors}

// IsChild reports whether this process is a child.
func IsChild() bool { return os.Getenv(variable) != "" }

// Child runs a child until its parent ends.
func Child() {
	kind, argument, _ := strings.Cut(os.Getenv(variable), " ")
	kinds[kind](argument)
	// The parent holds the other end, and never writes.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Must returns v, or ends a program that cannot run here.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check ends a program that cannot run here.
func Check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "trial: %v\n", err)
		os.Exit(1)
	}
}

// children keeps the children's pipes from the collector, which would close them.
var children []*exec.Cmd

// start starts a child, and returns what it prints.
func start(kind string) *bufio.Reader {
	command := exec.Command(Must(os.Executable()))
	command.Env = append(os.Environ(), variable+"="+kind)
	Must(command.StdinPipe())
	stdout := Must(command.StdoutPipe())
	Check(command.Start())
	children = append(children, command)
	return bufio.NewReader(stdout)
}

// StartVisitors starts n clients of an HTTP server.
func StartVisitors(n int, address string) { start(fmt.Sprintf("visitors %d %s", n, address)) }

// StartNeighbors starts a process that wants all CPUs, several times each.
func StartNeighbors() { start("neighbors") }

// A Backend is a process that answers after a delay.
type Backend struct {
	tcp, web string
}

// StartBackend starts a backend.
func StartBackend() *Backend {
	b := new(Backend)
	Must(fmt.Fscanln(start("backend"), &b.tcp, &b.web))
	return b
}

// URL returns an address that is answered after the delay.
func (b *Backend) URL(delay time.Duration) string {
	return fmt.Sprintf("http://%s/?wait=%s", b.web, delay)
}

// Requests of a message other than a delay in microseconds.
const (
	discard = 1<<32 - 1 // read everything that follows
	dawdle  = 1<<32 - 2 // read everything that follows, slowly
)

// dawdling is the pace of a slow reader: 64 kB every 20 ms.
const (
	dawdleBytes = 64 << 10
	dawdleEvery = 20 * time.Millisecond
)

func neighbors(string) {
	for range runtime.NumCPU() * 3 {
		go func() {
			for n := uint64(1); n != 0; n += 2 { // longer than any test
			}
		}()
	}
}

func backend(string) {
	tcp, web := Must(net.Listen("tcp", "localhost:0")), Must(net.Listen("tcp", "localhost:0"))
	fmt.Println(tcp.Addr(), web.Addr())
	go http.Serve(web, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(Must(time.ParseDuration(r.FormValue("wait"))))
		io.WriteString(w, "ok\n")
	}))
	go func() {
		for {
			go converse(Must(tcp.Accept()))
		}
	}()
}

func converse(c net.Conn) {
	var message [4]byte
	for {
		if _, err := io.ReadFull(c, message[:]); err != nil {
			return
		}
		switch delay := binary.LittleEndian.Uint32(message[:]); delay {
		case discard:
			_, _ = io.Copy(io.Discard, c)
			return
		case dawdle:
			for {
				if _, err := io.CopyN(io.Discard, c, dawdleBytes); err != nil {
					return
				}
				time.Sleep(dawdleEvery)
			}
		default:
			time.Sleep(time.Duration(delay) * time.Microsecond)
			if _, err := c.Write(message[:1]); err != nil {
				return
			}
		}
	}
}

// A Link is a connection to a backend, for one goroutine at a time.
type Link struct {
	net.Conn
	message [4]byte
}

// Dial opens a link.
func (b *Backend) Dial() *Link { return &Link{Conn: Must(net.Dial("tcp", b.tcp))} }

// Sink opens a connection whose other end reads everything, fast or slowly.
func (b *Backend) Sink(slow bool) net.Conn {
	l, mode := b.Dial(), uint32(discard)
	if slow {
		mode = dawdle
		_ = l.Conn.(*net.TCPConn).SetWriteBuffer(16 << 10)
	}
	binary.LittleEndian.PutUint32(l.message[:], mode)
	Must(l.Write(l.message[:]))
	return l.Conn
}

// Ask sends a request and waits for its answer.
func (l *Link) Ask(delay time.Duration) error {
	binary.LittleEndian.PutUint32(l.message[:], uint32(delay.Microseconds()))
	if _, err := l.Write(l.message[:]); err != nil {
		return err
	}
	_, err := io.ReadFull(l, l.message[:1])
	return err
}

func visitors(argument string) {
	var n int
	var address string
	Must(fmt.Sscan(argument, &n, &address))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	for range n {
		go func() {
			for {
				if response, err := client.Post(address, "", strings.NewReader("record")); err != nil {
					time.Sleep(100 * time.Millisecond)
				} else {
					_, _ = io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
			}
		}()
	}
}
