package profile

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestGlimpseBeforeTrace: a service without metrics gives a glimpse before the trace
// that was asked for, so that the same evidence decides with the trace and without.
// One whose metrics show GOMAXPROCS does not.
func TestGlimpseBeforeTrace(t *testing.T) {
	moment := tracedMoment(t)
	trace := func(w http.ResponseWriter, _ *http.Request) { w.Write(moment) }
	for name, test := range map[string]struct {
		handlers map[string]http.HandlerFunc
		want     []string
	}{
		"no metrics": {map[string]http.HandlerFunc{"/debug/metrics": http.NotFound, "/debug/pprof/trace": trace}, []string{"0.001", "0.02", "1"}},
		"metrics":    {map[string]http.HandlerFunc{"/debug/pprof/trace": trace}, []string{"1"}},
	} {
		f := serve(t, test.handlers)
		c := watch(t, f.at(t), KindTrace)
		var got []string
		for _, page := range *f.requested {
			if seconds, ok := strings.CutPrefix(page, "/debug/pprof/trace?seconds="); ok {
				got = append(got, seconds)
			}
		}
		if len(got) != len(test.want) || !slices.Equal(got[:len(got)-1], test.want[:len(got)-1]) {
			t.Errorf("%s: traces of %q seconds", name, got)
		}
		if c.Trace == nil || (c.Glimpse != nil) != (len(test.want) > 1) || c.GOMAXPROCS == 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
