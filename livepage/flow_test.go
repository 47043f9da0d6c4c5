package livepage_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/livepage"
)

// A service is a pipeline of three stages, one of which may be slow.
type service struct {
	lines, events *sluice.Bounded[int]
	slow          atomic.Pointer[string]
}

func newService(t *testing.T) *service {
	return &service{
		lines:  sluice.NewBounded(64, &sluice.BoundedOptions[int]{Name: t.Name() + "/lines"}),
		events: sluice.NewBounded(64, &sluice.BoundedOptions[int]{Name: t.Name() + "/events"}),
	}
}

// work takes the time of one value in a stage.
func (s *service) work(stage string) {
	if *s.slow.Load() == stage {
		time.Sleep(10 * time.Millisecond)
	} else {
		time.Sleep(time.Millisecond)
	}
}

func (s *service) read(ctx context.Context) {
	defer s.lines.Close()
	for ctx.Err() == nil {
		s.work("read")
		_ = s.lines.Send(ctx, 1)
	}
}

func (s *service) parse(ctx context.Context) {
	defer s.events.Close()
	for v := range s.lines.Values(ctx).All() {
		s.work("parse")
		s.emit(ctx, v)
	}
}

func (s *service) emit(ctx context.Context, v int) { _ = s.events.Send(ctx, v) }

func (s *service) write(ctx context.Context) {
	for {
		if _, err := s.events.Recv(ctx); err != nil {
			return
		}
		s.work("write")
	}
}

// mapOf returns the answer to format=flow, with the channels of this test only.
func mapOf(t *testing.T, h http.Handler) livepage.Flow {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/debug/sluice?format=flow", nil))
	var f livepage.Flow
	if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	f.Channels = slices.DeleteFunc(f.Channels, func(c livepage.FlowChannel) bool { return !strings.HasPrefix(c.Name, t.Name()+"/") })
	return f
}

// awaitNoChannels waits until the channels of other tests are gone.
func awaitNoChannels() {
	for range 1000 {
		if len(inspect.Channels()) == 0 {
			break
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// TestFlow: the map shows the stages of a running service, and its sentence follows the
// slow one.
func TestFlow(t *testing.T) {
	awaitNoChannels()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		s, h := newService(t), livepage.Handler()
		slow := func(stage string) { s.slow.Store(&stage) }
		slow("parse")
		var stages sync.WaitGroup
		stages.Go(func() { s.read(ctx) })
		stages.Go(func() { s.parse(ctx) })
		stages.Go(func() { s.write(ctx) })
		lines, events := t.Name()+"/lines", t.Name()+"/events"
		for _, step := range []struct{ slow, kind, want string }{
			{"parse", "stage", "livepage_test.service.parse is the slowest stage: " + lines + " is full, 1 sender waits; " + events + " is empty."},
			{"write", "stage", "livepage_test.service.write is the slowest stage: " + events + " is full, 1 sender waits."},
			{"read", "stage", "livepage_test.service.read sets the pace: " + lines + " is empty, 1 receiver waits for it, and no channel is full."},
			{"parse", "stage", "livepage_test.service.parse is the slowest stage: " + lines + " is full, 1 sender waits; " + events + " is empty."},
		} {
			slow(step.slow)
			for range 5 {
				_ = mapOf(t, h)
				time.Sleep(time.Second)
			}
			f := mapOf(t, h)
			if f.Summary != step.want || f.Bottleneck == nil || f.Bottleneck.Kind != step.kind || f.Bottleneck.Text != step.want {
				t.Errorf("%s is slow: %q %+v, want %q", step.slow, f.Summary, f.Bottleneck, step.want)
			}
			columns := map[string]int{}
			for _, stage := range f.Stages {
				columns[stage.Name] = stage.Column
			}
			if columns["livepage_test.service.read"] != 0 || columns["livepage_test.service.parse"] != 1 || columns["livepage_test.service.write"] != 2 {
				t.Errorf("columns of the stages: %v", columns)
			}
		}
		cancel()
		stages.Wait()
	})
}

// TestFlowInReports: the map is in a report that asks for it, and in no other. Both are
// from one reading of the channels.
func TestFlowInReports(t *testing.T) {
	c := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Name: t.Name()})
	_ = c.TrySend(1)
	h := livepage.Handler()
	for query, want := range map[string]bool{"format=json": false, "format=json&flow=1": true} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/debug/sluice?"+query, nil))
		var r livepage.Report
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		has := r.Flow != nil && r.Flow.Summary != "" && slices.ContainsFunc(r.Flow.Channels, func(f livepage.FlowChannel) bool { return f.Name == t.Name() })
		if has != want || strings.Contains(w.Body.String(), `"flow"`) != want {
			t.Errorf("%s: a map: %t, want %t", query, has, want)
		}
		if has && !r.Flow.Time.Equal(r.Time) {
			t.Errorf("%s: the map was read at %v, the list at %v", query, r.Flow.Time, r.Time)
		}
	}
	runtime.KeepAlive(c)
}
