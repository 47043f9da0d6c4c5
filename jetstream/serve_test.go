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

// The test binary has other roles, in processes of their own: roleVariable says which,
// and carries what they need. Each ends when its standard input does, so none outlives
// the test.
const roleVariable = "SLUICE_TEST_ROLE"

// A role is what a process is to be.
type role struct {
	Kind string // "server", "sender" or "receiver"
	Name string
	// of a server
	Port, RoutePort int
	Routes          []string
	Dir             string
	Always          bool // sync every write
	// of the others; without a URL the server is inside of the process, in Dir
	URL    string
	Number int
}

// serve takes the role that the environment says, and tells whether there was one.
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

// lastWords is the log of a server that says what it cannot live with, as that it cannot
// listen on its port, and dies of it: without a log it stays, and serves nobody.
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

// clusterChannel is the channel that all roles use.
func clusterChannel(urls string) Options[string] {
	return Options[string]{
		Name: "jobs", URL: urls, AckWait: 5 * time.Second, NackDelay: -1, Limit: sluice.Unlimited, Log: mute(),
	}
}

// sender sends values until its input ends. It prints what it knows of each: "+" and the
// value is stored, "?" and it is unknown, "-" and it is not; and "~" and the longest
// time between two that were stored, in milliseconds.
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
	tell := func(sign string, vs ...string) {
		for _, v := range vs {
			fmt.Fprintln(out, sign+v)
		}
		_ = out.Flush() // the parent counts them, and is gone if this fails
	}
	last, longest := time.Now(), time.Duration(0)
	for i := 0; !ended.Load(); i++ {
		batch := make([]string, 1+i%10)
		for j := range batch {
			batch[j] = fmt.Sprintf("%d.%d.%d", r.Number, i, j)
		}
		n, err := c.SendBatch(context.Background(), batch)
		tell("+", batch[:n]...)
		switch {
		case errors.Is(err, ErrUnknown):
			tell("?", batch[n:]...)
		case err != nil:
			tell("-", batch[n:]...)
		}
		longest = max(longest, time.Since(last))
		last = time.Now()
		time.Sleep(time.Millisecond) // a load, not a flood
	}
	tell("~", fmt.Sprint(longest.Milliseconds()))
	return c.Shutdown(context.Background())
}

// receiver prints what it receives until the channel is closed and drained, then "="
// and how it ended.
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
		_ = d.Ack() // or it comes again
	}
}
