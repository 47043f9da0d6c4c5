package jetstream

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var inNamespaces = flag.Bool("cluster.namespaces", false, "partition a cluster of three network namespaces; as root, with go test -exec 'unshare --net'")

// namespaces is a fabric of the kernel: each site is a network namespace, and all are
// connected by a bridge. A site that is cut off from another one has a wrong hardware
// address for it, so its packets vanish; TCP retransmits them, or gives up.
type namespaces struct {
	t     testing.TB
	names [3]string
	cuts  [][2]int
}

// address returns the address of a site. The test itself is at the bridge.
func (*namespaces) address(site int) string { return fmt.Sprint("10.99.0.", site+1) }

const atBridge = "10.99.0.254/24"

func ip(t testing.TB, format string, args ...any) {
	t.Helper()
	words := strings.Fields(fmt.Sprintf(format, args...))
	if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(words, " "), err, out)
	}
}

// newNamespaces makes the namespaces, in the one of the test, which has no network yet.
func newNamespaces(t testing.TB) *namespaces {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil || len(interfaces) != 1 {
		t.Fatalf("the test is not in a network namespace of its own: %v, %v: run it with go test -exec 'unshare --net'", interfaces, err)
	}
	n := &namespaces{t: t}
	ip(t, "link set lo up")
	ip(t, "link add bridge type bridge")
	t.Cleanup(func() { ip(t, "link del bridge") })
	ip(t, "addr add %s dev bridge", atBridge)
	ip(t, "link set bridge up")
	for i := range n.names {
		name := fmt.Sprintf("sluice-%d-%d", os.Getpid(), i)
		n.names[i] = name
		ip(t, "netns add %s", name)
		t.Cleanup(func() { ip(t, "netns del %s", name) })
		ip(t, "link add port%d type veth peer name site netns %s", i, name)
		t.Cleanup(func() { ip(t, "link del port%d", i) })
		ip(t, "link set port%d master bridge up", i)
		ip(t, "-n %s addr add %s/24 dev site", name, n.address(i))
		ip(t, "-n %s link set site up", name)
		ip(t, "-n %s link set lo up", name)
	}
	return n
}

func (n *namespaces) cut(from, to int) {
	ip(n.t, "-n %s neigh replace %s lladdr 02:00:00:00:00:99 dev site nud permanent", n.names[from], n.address(to))
	n.cuts = append(n.cuts, [2]int{from, to})
}

func (n *namespaces) heal() {
	for _, c := range n.cuts {
		// It may have been cut twice.
		_ = exec.Command("ip", "-n", n.names[c[0]], "neigh", "del", n.address(c[1]), "dev", "site").Run()
	}
	n.cuts = nil
}

// newNamespaceCluster returns a cluster with a site in each namespace.
func newNamespaceCluster(t testing.TB) *cluster {
	t.Helper()
	n := newNamespaces(t)
	c := &cluster{t: t, network: n, pace: longPace}
	const clientPort, routePort = 4222, 6222
	var routes, urls []string
	for i := range c.roles {
		routes = append(routes, fmt.Sprintf("nats-route://%s:%d", n.address(i), routePort))
		urls = append(urls, fmt.Sprintf("nats://%s:%d", n.address(i), clientPort))
	}
	c.urls = strings.Join(urls, ",")
	dir := t.TempDir()
	for i := range c.roles {
		name := string(rune('a' + i))
		c.roles[i] = role{Kind: "server", Namespace: n.names[i], Server: serverRole{
			Name: name, Host: n.address(i), Port: clientPort, RoutePort: routePort, Routes: routes, Dir: filepath.Join(dir, name),
		}}
		c.at[i] = role{Namespace: n.names[i], URL: strings.Join(append(urls[i:3:3], urls[:i]...), ","), InOrder: true}
	}
	return c
}

// The partitions of TestPartition, in network namespaces: packets are lost, where proxies
// hold what they carry.
func TestNamespaces(t *testing.T) {
	if !*inNamespaces {
		t.Skip("by hand: -exec 'unshare --net' -args -cluster.namespaces, as root")
	}
	for _, p := range partitions {
		for _, busy := range []bool{false, true} {
			t.Run(named(p.name, busy), func(t *testing.T) { rehearse(t, newNamespaceCluster(t), busy, p.do) })
		}
	}
}
