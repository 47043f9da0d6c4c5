package profile

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Metrics may come from a Prometheus or expvar page.
func TestMetricsPages(t *testing.T) {
	prometheus := func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("# HELP x\ngo_sched_gomaxprocs_threads 6\ngo_secret_thing 7\n"))
	}
	f := serve(t, map[string]http.HandlerFunc{"/debug/metrics": http.NotFound, "/metrics": prometheus})
	s := f.at(t)
	if c := watch(t, s); c.GOMAXPROCS != 6 || c.Metrics.Window() <= 0 {
		t.Errorf("%+v", c.Metrics)
	}
	f = serve(t, map[string]http.HandlerFunc{"/debug/metrics": http.NotFound, "/own": prometheus})
	s, err := At(f.URL, "/own")
	if err != nil {
		t.Fatal(err)
	}
	if c := watch(t, s); c.GOMAXPROCS != 6 {
		t.Errorf("%+v", c.Metrics)
	}
}

// Metrics may be on another port of the same host.
func TestMetricsOnAnotherPort(t *testing.T) {
	var credentials string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credentials = r.Header.Get("Authorization")
		w.Write([]byte("# HELP x\ngo_sched_gomaxprocs_threads 6\n"))
	}))
	defer other.Close()
	f := serve(t, map[string]http.HandlerFunc{"/debug/metrics": http.NotFound})
	s, err := At(strings.Replace(f.URL, "http://", "http://user:secret@", 1), other.URL+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	s.getter = f.at(t).getter
	if c := watch(t, s); c.GOMAXPROCS != 6 {
		t.Errorf("%+v", c.Metrics)
	}
	if credentials != "" {
		t.Errorf("another port was told %q", credentials)
	}
}

func TestMetricsAddresses(t *testing.T) {
	for _, c := range []struct{ target, page, want string }{
		{"h:1", "/m?a=b", "http://h:1/m?a=b"},
		{"h:1", "h:9090", "http://h:9090/metrics"},
		{"h:1", ":9090/m", "http://h:9090/m"},
		{"h:1", "https://H:9090/m", "https://H:9090/m"},
		{":1", "127.0.0.1:9090/m", "http://127.0.0.1:9090/m"},
		{"[::1]:1", ":9090", "http://[::1]:9090/metrics"},
		{"http://user:secret@h:1/", "/m", "http://user:secret@h:1/m"},
		{"http://user:secret@h:1/", ":9090", "http://h:9090/metrics"},
		{"http://user:secret@h:1/", "https://h:1/m", "https://h:1/m"},
	} {
		s, err := At(c.target, c.page)
		if err != nil || len(s.metrics) != 1 || s.metrics[0].String() != c.want {
			t.Errorf("%s of %s: %v, %v, want %s", c.page, c.target, s, err, c.want)
		}
	}
	for page, want := range map[string]string{
		"http://elsewhere.example/metrics": "same host as the service, on any port",
		"10.0.0.2:9090":                    "same host as the service",
		"ftp://h:1/m":                      "unsupported scheme",
		"http://user:secret@h:x/m":         "invalid address",
		"%zz":                              "invalid page of metrics (want a path",
	} {
		if s, err := At("h:1", page); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v, want %q", page, s, err, want)
		}
	}
}
