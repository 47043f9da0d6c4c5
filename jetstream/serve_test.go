//go:build unix

package jetstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-go/sluice"
)

// roleVariable is the environment variable with the role of a process: the test binary has
// other roles, in processes of their own. Each ends with its standard input, so none
// outlives the test.
const roleVariable = "SLUICE_TEST_ROLE"

// A role is what a process does.
type role struct {
	Kind string // "server", "sender" or "receiver"
	Name string
	// for a server
	Port, RoutePort int
	Routes          []string
	Dir             string
	Always          bool // sync every write
	// for senders and receivers; without a URL the server is embedded, in Dir
	URL    string
	Number int
}

// serve runs the role in the environment, and reports whether there was one.
func serve() bool {
	text := os.Getenv(roleVariable)
	if text == "" {
		return false
	}
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		switch r.Kind {
		case "server":
			err = r.server()
		case "sender":
			err = r.sender()
		case "receiver":
			err = r.receiver()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, r.Kind, r.Name, err)
		os.Exit(1)
	}
	return true
}

func (r role) server() error {
	o := &server.Options{
		ServerName: r.Name, Host: "127.0.0.1", Port: r.Port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: r.Dir, SyncAlways: r.Always,
		Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: r.RoutePort},
	}
	for _, route := range r.Routes {
		u, err := url.Parse(route)
		if err != nil {
			return err
		}
		o.Routes = append(o.Routes, u)
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.SetLogger(lastWords{}, false, false)
	s.Start()
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop(s)
	return nil
}

// lastWords is a log of fatal errors, such as a port in use, which end the process:
// without a log, a server would stay without a listener.
type lastWords struct{}

func (lastWords) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "server: "+format+"\n", args...)
	os.Exit(1)
}

func (lastWords) Errorf(string, ...any)  {}
func (lastWords) Warnf(string, ...any)   {}
func (lastWords) Noticef(string, ...any) {}
func (lastWords) Debugf(string, ...any)  {}
func (lastWords) Tracef(string, ...any)  {}

// clusterChannel returns the options that all roles use.
func clusterChannel(urls string) Options[string] {
	return Options[string]{
		Name: "jobs", URL: urls, AckWait: 5 * time.Second, NackDelay: -1, Limit: sluice.Unlimited, Log: mute(),
	}
}

// sender sends values until its input ends. It prints a line for each value: "+" and
// the value if it is stored, "?" if that is unknown, "-" if it is not stored; and at
// the end "~" and the longest time between two sends in milliseconds.
func (r role) sender() error {
	o := clusterChannel(r.URL)
	o.Dir = r.Dir
	c, err := Open(context.Background(), &o)
	if err != nil {
		return err
	}
	var ended atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		ended.Store(true)
	}()
	out := bufio.NewWriter(os.Stdout)
	report := func(sign string, vs ...string) {
		for _, v := range vs {
			fmt.Fprintln(out, sign+v)
		}
		_ = out.Flush() // the parent reads it; if this fails, the parent is gone
	}
	last, longest := time.Now(), time.Duration(0)
	for i := 0; !ended.Load(); i++ {
		batch := make([]string, 1+i%10)
		for j := range batch {
			batch[j] = fmt.Sprintf("%d.%d.%d", r.Number, i, j)
		}
		n, err := c.SendBatch(context.Background(), batch)
		report("+", batch[:n]...)
		switch {
		case errors.Is(err, ErrUnknown):
			report("?", batch[n:]...)
		case err != nil:
			report("-", batch[n:]...)
		}
		longest = max(longest, time.Since(last))
		last = time.Now()
		time.Sleep(time.Millisecond) // below saturation
	}
	report("~", fmt.Sprint(longest.Milliseconds()))
	return c.Shutdown(context.Background())
}

// receiver prints what it receives until the channel is closed and drained, then "="
// and the error.
func (r role) receiver() error {
	o := clusterChannel(r.URL)
	c, err := Open(context.Background(), &o)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = c.Shutdown(context.Background())
	}()
	out := bufio.NewWriter(os.Stdout)
	for {
		d, err := c.Deliveries().Recv(context.Background())
		if err != nil {
			fmt.Fprintln(out, "="+err.Error())
			return out.Flush()
		}
		fmt.Fprintln(out, d.Value)
		if err := out.Flush(); err != nil {
			return err
		}
		_ = d.Ack() // or it is redelivered
	}
}
