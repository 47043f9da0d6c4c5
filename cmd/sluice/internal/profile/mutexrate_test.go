package profile

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An empty mutex profile is off, or nothing waited: only its text tells.
func TestEmptyMutexProfile(t *testing.T) {
	for text, want := range map[string]string{
		"--- mutex:\ncycles/second=2449999999\nsampling period=0\n":  "empty, because the service does not call runtime.SetMutexProfileFraction",
		"--- mutex:\ncycles/second=2449999999\nsampling period=10\n": "empty although sampling is on (1 in 10 events)",
		"--- mutex:\n":                          "empty: the service does not call runtime.SetMutexProfileFraction, or nothing ever waited",
		"--- mutex:\na\nb\nsampling period=0\n": "or nothing ever waited",
	} {
		f := serve(t, map[string]http.HandlerFunc{"/debug/pprof/mutex": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("debug") == "1" {
				w.Write([]byte(text))
				return
			}
			w.Write(waitDrawing().bytes(t))
		}})
		s := f.at(t)
		live := watch(t, s)
		dir := filepath.Join(t.TempDir(), "saved")
		if err := s.Save(dir); err != nil {
			t.Fatal(err)
		}
		saved, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []*Capture{live, saved} {
			missing := slices.DeleteFunc(slices.Clone(c.Missing), func(m Missing) bool { return m.Kind != KindMutex })
			if len(missing) != 1 || !strings.Contains(missing[0].Reason, want) || c.Mutex != nil {
				t.Errorf("%q: %+v, want %q", text, missing, want)
			}
		}
	}
	f := serve(t, nil)
	watch(t, f.at(t))
	if slices.Contains(*f.requested, "/debug/pprof/mutex?debug=1") {
		t.Error("the rate was requested of a profile that is not empty")
	}
}
