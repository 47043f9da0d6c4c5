package jetstream

import (
	"slices"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// The warning names each replica that does not sync every write or did not answer,
// and no other server, unless the replicas are unknown.
func TestLaxServers(t *testing.T) {
	t.Parallel()
	report := func(name string, always bool) varz {
		var v varz
		v.Server.Name = name
		v.Data.JetStream.Config.SyncAlways = always
		v.Data.JetStream.Config.SyncInterval = time.Minute
		return v
	}
	found := map[string]varz{"a": report("a", true), "b": report("b", false), "c": report("c", true)}
	for _, test := range []struct {
		replicas []string
		want     string
	}{
		{[]string{"a", "c"}, ""},
		{[]string{"b", "a"}, ": b syncs every 1m0s"},
		{[]string{"d", "b", "a"}, ": b syncs every 1m0s, d did not answer"},
		{nil, ": b syncs every 1m0s"},
	} {
		got := laxServers(test.replicas, found)
		if (got == "") != (test.want == "") || !strings.HasSuffix(got, test.want) {
			t.Errorf("replicas %v: %q, want %q", test.replicas, got, test.want)
		}
	}
}

// knownAs is a stream with fixed info.
type knownAs struct {
	natsjs.Stream
	info natsjs.StreamInfo
}

func (s knownAs) CachedInfo() *natsjs.StreamInfo { return &s.info }

// The replicas are the leader and its peers.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cluster *natsjs.ClusterInfo
		want    []string
	}{
		{nil, nil},
		{&natsjs.ClusterInfo{Leader: "alone"}, nil},
		{&natsjs.ClusterInfo{Name: "three", Leader: "a", Replicas: []*natsjs.PeerInfo{{Name: "b"}, {Name: "c"}}}, []string{"a", "b", "c"}},
		{&natsjs.ClusterInfo{Name: "three", Replicas: []*natsjs.PeerInfo{{Name: "b"}, {Name: "c"}}}, []string{"b", "c"}},
	} {
		s := stream{handle: knownAs{info: natsjs.StreamInfo{Cluster: test.cluster}}}
		if got := s.replicas(); !slices.Equal(got, test.want) {
			t.Errorf("cluster %+v: %q, want %q", test.cluster, got, test.want)
		}
	}
}
