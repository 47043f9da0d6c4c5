//go:build unix

package jetstream

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-go/sluice/internal/suite"
)

var upgradeFrom = flag.String("cluster.from", "", "rehearse an upgrade from this version of nats-server, such as v2.12.15; it is built from the Go module proxy")

// oldServer builds a server of another version, and returns its path. Its module is not
// in go.mod: the tests of every day need one version only.
func oldServer(t testing.TB, version string) string {
	t.Helper()
	source, err := os.ReadFile("server_role_test.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"server.go": strings.Replace(string(source), "package jetstream", "package main", 1),
		"main.go": `package main

import (
	"encoding/json"
	"os"
)

func main() {
	var r struct{ Server serverRole }
	err := json.Unmarshal([]byte(os.Getenv("` + roleVariable + `")), &r)
	if err == nil {
		err = r.Server.serve()
	}
	if err != nil {
		panic(err)
	}
}
`,
		"go.mod": "module old\n\ngo 1.25\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"go get github.com/nats-io/nats-server/v2@" + version, "go mod tidy", "go build -o old ."} {
		words := strings.Fields(command)
		build := exec.Command(words[0], words[1:]...)
		build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	return filepath.Join(dir, "old")
}

// A rehearsed upgrade: the servers are restarted one after another under load, then the
// processes that use the channel. No value is lost, and no acknowledgment that was
// confirmed is forgotten. A busy one is closed while the second server restarts.
//
// With -args -cluster.from VERSION the servers are of that version before.
func TestUpgrade(t *testing.T) {
	suite.Needs(t, "three NATS servers")
	t.Parallel()
	old := ""
	if *upgradeFrom != "" {
		old = oldServer(t, *upgradeFrom)
	}
	for _, busy := range []bool{false, true} {
		if !busy && !*allFaults && old == "" {
			continue
		}
		t.Run(named("rolling", busy), func(t *testing.T) {
			c := newCluster(t)
			for i := range c.roles {
				c.roles[i].Program = old
			}
			rehearse(t, c, busy, func(r *rehearsal) {
				wait := func() {}
				for i := range r.nodes {
					if i == 1 {
						r.restartClients()
						wait = r.closingIfBusy()
					}
					r.roles[i].Program = ""
					r.restart(i)
					r.progress()
					r.whole(r.ch)
				}
				wait()
				if !r.closed {
					r.restartClients()
				}
				for i := range r.nodes {
					if version := r.version(i); version != server.VERSION {
						t.Errorf("server %d has version %s, want %s", i, version, server.VERSION)
					}
				}
			})
		})
	}
}

// version returns the version of a server.
func (c *cluster) version(i int) string {
	c.t.Helper()
	return client(c.t, fmt.Sprint("nats://127.0.0.1:", c.roles[i].Server.Port)).ConnectedServerVersion()
}

// restartClients ends the clients one after another, and starts others in their place.
func (r *rehearsal) restartClients() {
	r.t.Helper()
	for _, kind := range []*[3]*process{&r.senders, &r.receivers} {
		for i, p := range kind {
			if err := p.finish(); err != nil {
				r.t.Errorf("%v: %v", p, err)
			}
			kind[i] = r.client(p.role.Kind, i)
			r.progress()
		}
	}
}
