package profile

import (
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/livepage"
)

const smallFlow = `{"time":"2026-01-02T03:04:05Z","over":1,"summary":"parse is the slowest stage.",
	"stages":[{"id":"main.parse","name":"parse","function":"main.parse","file":"/x/main.go","line":42,"column":1}],
	"channels":[{"id":3,"name":"lines","kind":"Bounded","len":64,"cap":64,"fill":1,"senders":3}],
	"edges":[{"stage":"main.parse","channel":3,"side":"receive","share":1}],
	"bottleneck":{"stage":"main.parse","channel":3,"kind":"slow-stage","text":"parse is the slowest stage."},"unknown":[]}`

// The map is read twice, since the service has rates only then, and is saved.
func TestFlow(t *testing.T) {
	f := serve(t, map[string]http.HandlerFunc{"/debug/sluice": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, smallFlow)
	}})
	s := f.at(t)
	c := watch(t, s)
	requests := 0
	for _, request := range *f.requested {
		if request == "/debug/sluice?format=flow" {
			requests++
		}
	}
	if c.Flow == nil || c.Flow.Bottleneck == nil || c.Flow.Bottleneck.Stage != "main.parse" || requests != 2 {
		t.Fatalf("%+v after %d requests", c.Flow, requests)
	}
	dir := filepath.Join(t.TempDir(), "saved")
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	saved, err := Open(dir)
	if err != nil || !reflect.DeepEqual(saved.Flow, c.Flow) || c.FlowBefore == nil || !reflect.DeepEqual(saved.FlowBefore, c.FlowBefore) {
		t.Errorf("%+v, %v", saved, err)
	}
}

// A service whose package livepage refuses the host name has no map, and the reason
// says which option allows it.
func TestFlowRefused(t *testing.T) {
	c := watch(t, serve(t, map[string]http.HandlerFunc{"/debug/sluice": func(w http.ResponseWriter, r *http.Request) {
		r.Host = "orders.internal:6060"
		livepage.Handler().ServeHTTP(w, r)
	}}).at(t))
	at := slices.IndexFunc(c.Missing, func(m Missing) bool { return m.Kind == KindFlow })
	if at < 0 || !strings.Contains(c.Missing[at].Reason, `livepage.Handler("orders.internal")`) || c.Flow != nil {
		t.Errorf("%+v", c.Missing)
	}
}

// A service without package livepage, or with an older one, has no map, and that is
// not reported as missing.
func TestNoFlow(t *testing.T) {
	for name, page := range map[string]http.HandlerFunc{
		"not found": http.NotFound,
		"older": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `sluice: unknown format "flow" (want html, json or events)`, http.StatusBadRequest)
		},
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"stages":1}`) },
	} {
		c := watch(t, serve(t, map[string]http.HandlerFunc{"/debug/sluice": page}).at(t))
		for _, m := range c.Missing {
			if m.Kind == KindFlow {
				t.Errorf("%s: %v", name, m)
			}
		}
		if c.Flow != nil {
			t.Errorf("%s: %+v", name, c.Flow)
		}
	}
}
