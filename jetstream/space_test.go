package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// Servers at their own limit of storage answer so: every way to send fails at once, and
// nothing is stored. Open fails, too.
func TestServerLimit(t *testing.T) {
	t.Parallel()
	s := listening(t, func(o *server.Options) { o.JetStreamMaxStore = 50_000 })
	o := Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()}
	c := open(t, o)
	large := strings.Repeat("a", 30_000)
	mustSend(t, c, large, large)
	_, batchErr := c.SendBatch(patient(t), []string{"a", "b"})
	for _, err := range []error{c.Send(patient(t), "a"), c.TrySend("a"), batchErr} {
		if !errors.Is(err, ErrNoSpace) || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "insufficient resources") {
			t.Errorf("%v, want %v", err, ErrNoSpace)
		}
	}
	if n, w := storedIn(t, s, "jobs"), c.Stats().Disk.Warning; n != 2 || !strings.Contains(w, "no space left") {
		t.Errorf("%d values are stored, Stats.Warning is %q", n, w)
	}
	other := o
	other.Name, other.MaxBytes = "others", 1<<20
	if _, err := Open(t.Context(), &other); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Open: %v", err)
	}
	mustRecv(t, c, large, large)
	until(t, "there is space", func() bool { return c.TrySend("a") == nil })
	if w := c.Stats().Disk.Warning; strings.Contains(w, "no space left") {
		t.Errorf("Stats.Disk.Warning with space again: %q", w)
	}
}

// In a cluster, Send tries again for a while: another server may lead.
func TestNoSpaceElsewhere(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Log: mute()})
	p := &c.core.publisher
	p.config.replicas = clusterReplicas
	for attempts, want := range map[int]error{3: nil, 1000: ErrNoSpace} {
		pub, n := p.single([]byte("a")), 0
		answered := pub.store
		pub.store = func(ctx context.Context) error {
			if n++; n < attempts {
				return answer(server.JSInsufficientResourcesErr, "insufficient resources")
			}
			return answered(ctx)
		}
		if err := p.send(patient(t), pub, waitRoom); !errors.Is(err, want) || n < 2 || n > attempts {
			t.Errorf("%d attempts: %v, want %v", n, err, want)
		}
	}
}

// Errors are about space by their code or their text; no other error matches.
func TestSpaceError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want bool
	}{
		{answer(server.JSInsufficientResourcesErr, ""), true},
		{answer(server.JSAccountResourcesExceededErr, ""), true},
		{answer(server.JSMemoryResourcesExceededErr, ""), true},
		{answer(server.JSStorageResourcesExceededErr, ""), true},
		{errors.New("write 1.blk: no space left on device"), true},
		{errors.New("write 1.blk: disk quota exceeded"), true},
		{errors.New("write 1.blk: There is not enough space on the disk."), true},
		{errors.New("write 1.blk: input/output error"), false},
		{answer(server.JSClusterNotLeaderErr, ""), false},
	} {
		got := spaceError(fmt.Errorf("wrapped: %w", test.err))
		if errors.Is(got, ErrNoSpace) != test.want || !errors.Is(got, test.err) {
			t.Errorf("%v: %v", test.err, got)
		}
		if u := (&UnknownError{Cause: got}); errors.Is(u, ErrNoSpace) != test.want || !errors.Is(u, ErrUnknown) || errors.Is(u, test.err) {
			t.Errorf("unknown, %v: %v", test.err, u)
		}
	}
}
