package livepage

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
)

// get sends a GET request to h.
func get(h http.Handler, query string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/debug/sluice?"+query, nil))
	return w
}

// reportOf requests JSON from h.
func reportOf(t *testing.T, h http.Handler, query string) (r Report) {
	t.Helper()
	w := get(h, "format=json&"+query)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", query, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatalf("%s: %v in %s", query, err, w.Body)
	}
	return r
}

func TestOnlyGET(t *testing.T) {
	for _, method := range []string{"HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, httptest.NewRequest(method, "http://localhost/debug/sluice", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

// Each bad query is answered with one line that names the mistake.
func TestBadQueries(t *testing.T) {
	for query, says := range map[string]string{
		"format=flow&filter=a":                "format=flow cannot be combined",
		"flow=yes":                            "invalid flow \"yes\" (want 1)",
		"flow=1&channel=3":                    "parameter \"flow\" cannot be combined with \"channel\"",
		"format=xml":                          "unknown format \"xml\" (want html, json, events or flow)",
		"format=":                             "unknown format \"\"",
		"channel=0":                           "invalid channel \"0\"",
		"channel=-1":                          "invalid channel \"-1\"",
		"channel=99999999999999999999":        "invalid channel",
		"channel=1&page=2":                    `parameter "page" cannot be combined with "channel"`,
		"kind=Bounded":                        "unknown kind \"Bounded\" (want rendezvous, ",
		"sort=size":                           "unknown sort key \"size\" (want bytes, dropped,",
		"order=up":                            "unknown order \"up\" (want asc or desc)",
		"page=0":                              "invalid page \"0\"",
		"page=x":                              "invalid page \"x\"",
		"size=201":                            "(want a number from 1 to 200)",
		"size=1&size=2":                       "parameter \"size\" occurs 2 times",
		"filtre=a":                            "unknown parameter \"filtre\"",
		"a=1&b=2":                             "unknown parameter \"a\"",
		"%zz":                                 "malformed",
		"a;b":                                 "malformed",
		"x%0ay=1":                             "unknown parameter",
		"filter=" + strings.Repeat("a", 5000): "at most 4096",
	} {
		w := get(Handler(), query)
		text := w.Body.String()
		if w.Code != http.StatusBadRequest || !strings.Contains(text, says) || strings.Count(text, "\n") != 1 {
			t.Errorf("%.40s: %d %q, want 400 and %q", query, w.Code, text, says)
		}
		if kind := w.Header().Get("Content-Type"); kind != "text/plain; charset=utf-8" {
			t.Errorf("%.40s: error of type %s", query, kind)
		}
	}
}

func TestNoSuchChannel(t *testing.T) {
	for _, format := range []string{"json", "events"} {
		if w := get(Handler(), "channel=999999999&format="+format); w.Code != http.StatusNotFound || w.Body.String() != "sluice: "+gone+"\n" {
			t.Errorf("%s: %d %q", format, w.Code, w.Body)
		}
	}
}

// Every answer forbids foreign scripts, content sniffing and caching.
func TestHeaders(t *testing.T) {
	types := map[string]string{"": "text/html", "format=css": "text/css", "format=js": "text/javascript", "format=json": "application/json", "format=none": "text/plain"}
	for query, kind := range types {
		header := get(Handler(), query).Header()
		if got := header.Get("Content-Type"); !strings.HasPrefix(got, kind) {
			t.Errorf("%q has type %s, want %s", query, got, kind)
		}
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": ""} {
			if got := header.Get(name); got != want {
				t.Errorf("%q: %s is %q, want %q", query, name, got, want)
			}
		}
	}
	for _, unsafe := range []string{"unsafe", "*", "http:", "https:", "data:"} {
		if strings.Contains(policy, unsafe) {
			t.Errorf("the policy allows %s", unsafe)
		}
	}
}

// The page contains no inline script, style or event handler, which the policy
// would block, and its script builds no HTML from strings.
func TestPageKeepsItsPolicy(t *testing.T) {
	forbidden := map[string]*regexp.Regexp{
		"":           regexp.MustCompile(`<script>|<style|\sstyle=|\son[a-z]+=|javascript:|//[a-z]+\.`),
		"format=js":  regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setAttribute\("style`),
		"format=css": regexp.MustCompile(`url\(|@import`),
	}
	for query, pattern := range forbidden {
		text := get(Handler(), query).Body.String()
		if len(text) < 1000 {
			t.Errorf("%q: %d bytes", query, len(text))
		}
		if found := pattern.FindString(text); found != "" {
			t.Errorf("%q has %s", query, found)
		}
	}
}

// A name is data: in JSON it cannot end a script element, and it survives the
// round trip. Values never appear.
func TestNamesAreEscapedAndValuesHidden(t *testing.T) {
	name := "</script><img src=x onerror=alert(1)>\"'&\n\u2028" + nameOf(t)
	c := sluice.NewBounded[int](4, &sluice.BoundedOptions[int]{Name: name})
	const secret = 1_908_172_635 // no other figure is that
	if err := c.TrySend(secret); err != nil {
		t.Fatal(err)
	}
	h := Handler()
	text := get(h, "format=json&filter="+nameOf(t)).Body.String()
	if strings.ContainsAny(text, "<>&\u2028") || strings.Contains(text, strconv.Itoa(secret)) {
		t.Errorf("it says %s", text)
	}
	if r := reportOf(t, h, "filter="+nameOf(t)); len(r.Channels) != 1 || r.Channels[0].Name != name {
		t.Errorf("the name came out as %+v", r.Channels)
	}
	runtime.KeepAlive(c)
}

// Importing the package registers nothing.
func TestNothingIsRegistered(t *testing.T) {
	for _, path := range []string{"/debug/sluice", "/debug/sluice/", "/debug/"} {
		if _, pattern := http.DefaultServeMux.Handler(httptest.NewRequest("GET", path, nil)); pattern != "" {
			t.Errorf("%s is served by %q", path, pattern)
		}
	}
	// net/http/pprof registers itself, which a program that shows channels may
	// not want.
	deps, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"net/http/pprof", "expvar", "html/template"} {
		if strings.Contains("\n"+string(deps), "\n"+unwanted+"\n") {
			t.Errorf("the package imports %s", unwanted)
		}
	}
}

// The page offers every kind that a query may ask for.
func TestPageOffersKinds(t *testing.T) {
	page := get(Handler(), "").Body.String()
	for _, kind := range kinds {
		if !strings.Contains(page, "<option>"+kind+"</option>") {
			t.Errorf("the page does not offer the kind %s", kind)
		}
	}
	if strings.Contains(page, "<!--") {
		t.Error("a placeholder is left in the page")
	}
}

// The handler works under any path, with and without a trailing slash, because
// all its addresses are queries.
func TestWorksAnywhere(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/debug/sluice", Handler())
	mux.Handle("/deep/below/", Handler())
	server := httptest.NewServer(mux)
	defer server.Close()
	reference := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	for _, path := range []string{"/debug/sluice", "/deep/below/", "/deep/below/x"} {
		answer, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		found := reference.FindAllStringSubmatch(string(page), -1)
		if len(found) < 5 {
			t.Errorf("%s: %d references", path, len(found))
		}
		for _, match := range found {
			if !strings.HasPrefix(match[1], "?") {
				t.Errorf("%s: refers to %s", path, match[1])
			}
			answer, err := http.Get(server.URL + path + match[1])
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("%s%s: %v, %v", path, match[1], answer, err)
			}
		}
	}
}
