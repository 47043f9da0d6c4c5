package site

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-go/sluice/tools/page"
)

var shots = flag.String("shots", "", "save screenshots in this directory")

// What make site makes.
const (
	sphinx = "../../bin/.sphinx/bin/sphinx-build"
	folder = "../../bin/site"
)

// tree is a small repository.
var tree = fstest.MapFS{
	"README.md":            {Data: []byte("# Top\n\n[a source file](src/a.go), [a folder](src), [a part](docs/a.md#a-part), ![a picture](docs/pictures/a.svg)\n")},
	"docs/README.md":       {Data: []byte("# Documents\n\n## Start\n\n* [Top](../README.md): x.\n* [A](a.md): [the same](a.md).\n* [Decisions](adr/README.md)\n")},
	"docs/a.md":            {Data: []byte("# A\n\nText:\n- a list\n  - in a list\n\n## A `part`\n")},
	"docs/adr/README.md":   {Data: []byte("# Decisions\n\n1. [One](0001-one.md)\n")},
	"docs/adr/0001-one.md": {Data: []byte("# One\n")},
	"docs/pictures/a.svg":  {Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>`)},
	"src/a.go":             {Data: []byte("package a\n")},
}

// build makes the site of a small repository with more files.
func build(t *testing.T, more map[string]string) (to, output string, err error) {
	t.Helper()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "site")
	if err := os.CopyFS(from, tree); err != nil {
		t.Fatal(err)
	}
	for name, text := range more {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(sphinx, "-q", "-W", "--keep-going", "-c", ".", from, to).CombinedOutput()
	return to, string(out), err
}

func TestDocuments(t *testing.T) {
	to, output, err := build(t, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for name, wants := range map[string][]string{
		"README.html": {`href="https://github.com/sluice-go/sluice/blob/main/src/a.go"`, `href="https://github.com/sluice-go/sluice/tree/main/src"`,
			`href="docs/a.html#a-part"`, `href="docs/adr/0001-one.html"`, `>Start<`},
		"docs/a.html": {`<p>Text:</p>`, `<li><p>in a list</p></li>`},
	} {
		text, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s:\n%s", name, want, text)
			}
		}
	}
}

func TestPlantedDocuments(t *testing.T) {
	_, output, err := build(t, map[string]string{
		"docs/a.md":            "# A\n\n[x](gone.md), [x](../src/gone.go), [x](#gone-part), ![x](pictures/gone.svg), [x](adr/0001-one.md#gone-one)\n",
		"docs/b.md":            "# B\n",
		"docs/recipes.md":      "# Without the parts of index.txt\n",
		"docs/adr/0001-one.md": "## One\n",
	})
	if err == nil {
		t.Error("the site was made")
	}
	for _, want := range []string{"'gone.md'", "'../src/gone.go'", "'gone-part'", "pictures/gone.svg", "'gone-one'", "'a-part'",
		"b.md: WARNING: document isn't included in any toctree", "start at H2",
		"index.txt: no part 'docs/recipes.md#stages'"} {
		if !strings.Contains(output, want) {
			t.Errorf("nothing about %s in\n%s", want, output)
		}
	}
}

// start starts a browser, and serves the site. The parameter fault
// adds a fault to README.html.
func start(t *testing.T) (browser context.Context, address string) {
	t.Helper()
	top, err := os.ReadFile(filepath.Join(folder, "README.html"))
	if err != nil {
		t.Fatalf("%v: run make site first", err)
	}
	files := http.FileServer(http.Dir(folder))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch fault := r.FormValue("fault"); {
		case fault != "":
			io.WriteString(w, strings.Replace(string(top), "</body>", fault+"</body>", 1))
		case r.URL.Path == "/favicon.ico": // which browsers ask any server for
			w.WriteHeader(http.StatusNoContent)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	browser, stop, err := page.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return browser, server.URL + "/"
}

func open(t *testing.T, browser context.Context, address string, view page.View) *page.Page {
	t.Helper()
	p, end, err := page.Visit(browser, address, view)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return p
}

func TestSite(t *testing.T) {
	browser, address := start(t)
	for _, name := range []string{"README.html", "docs/metrics.html", "docs/recipes.html", "bench/RESULTS.html"} {
		for _, view := range []page.View{page.Phone, page.PhoneDark, page.Desk, page.DeskDark} {
			p := open(t, browser, address+name, view)
			for _, wrong := range p.Sound(address) {
				t.Errorf("%s, %s: %s", name, view.Name, wrong)
			}
			if *shots != "" {
				data, err := p.Screen()
				if err == nil {
					err = os.WriteFile(filepath.Join(*shots, "site-"+strings.ReplaceAll(name, "/", "-")+"-"+view.Name+".png"), data, 0o666)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// words are what a stranger may search for, with the first page that is found. About half of
// them are in index.txt.
var words = map[string]string{
	"drop oldest": "choosing", "DropOldest": "choosing", "backpressure": "choosing", "unbounded": "choosing", "memory limit": "choosing",
	"ring buffer": "choosing", "timeout": "choosing", "slow consumer": "choosing",
	"kafka": "choosing#what-it-is-not-for", "Redis": "choosing#what-it-is-not-for", "websocket": "choosing#what-it-is-not-for",
	"exactly once": "choosing#what-it-is-not-for", "message queue": "choosing#what-it-is-not-for", "postgres": "choosing#what-it-is-not-for",
	"rate limit": "recipes#rate-limit", "throttle": "recipes#rate-limit", "graceful shutdown": "recipes#graceful-shutdown",
	"worker pool": "recipes#workers", "broadcast": "recipes#broadcast", "pub sub": "recipes#broadcast", "fan out": "recipes", "panic": "recipes",
	"priority queue": "recipes#priority", "retry": "recipes#retries", "load shedding": "recipes#load-shedding", "batching": "recipes#batches-for-a-database",
	"try send": "recipes#load-shedding", "request reply": "recipes#request-and-response", "semaphore": "recipes#a-limit-on-what-is-in-use",
	"ordering": "recipes#order-for-each-key", "pipeline": "recipes#a-pipeline", "TTL": "recipes#values-that-grow-old",
	"select": "choosing#move-the-select", "mutex": "choosing", "migrate": "choosing#moving-from-built-in-channels", "context": "recipes#stages", "goroutine leak": "recipes#how-pipelines-end",
	"deadlock": "doctor", "leak": "doctor", "pprof": "doctor", "prometheus": "metrics", "alert": "metrics#alerts", "dashboard": "metrics",
	"NATS": "jetstream", "dead letter": "jetstream", "at least once": "jetstream#guarantees", "durable": "spill", "fsync": "spill", "crash": "spill",
	"rill": "choosing#rill", "conc": "choosing#conc", "watermill": "/contrib/watermill/README", "outbox": "/examples/README", "sqlite": "/examples/README",
	"errgroup": "/README", "install": "/README", "license": "/README", "benchmark": "/bench/RESULTS", "latency": "/bench/RESULTS",
	"windows": "releases#go-versions-and-systems", "go version": "releases", "security": "/SECURITY",
	"sluicechannelstalled": "metrics", "Thundering HERD": "/ARCHITECTURE", "generics": "adr/0004-api",
}

func TestSearch(t *testing.T) {
	browser, address := start(t)
	p := open(t, browser, address+"docs/adr/README.html", page.Phone)
	for query, want := range words {
		link, titles, err := Search(p, query)
		if err != nil {
			t.Fatal(err)
		}
		name, part, _ := strings.Cut(want, "#")
		if !strings.HasPrefix(name, "/") {
			name = "/docs/" + name
		}
		if want = name + ".html"; part != "" {
			want += "#" + part
		}
		if at, err := url.Parse(link); err != nil || at.RequestURI()+strings.TrimSuffix("#"+at.Fragment, "#") != want {
			t.Errorf("search for %q: first %s, want %s; all: %q", query, link, want, titles)
		}
	}
	for _, query := range []string{"nosuchwordsanywhere", "c++ ("} {
		if _, _, err := Search(p, query); err != nil {
			t.Errorf("search for %q: %v", query, err)
		}
	}
	for _, wrong := range append(p.Quiet(), p.Alone(address)...) {
		t.Errorf("after searches: %s", wrong)
	}
}

// TestDocumentsOfIndex: Sphinx finds parts that are gone, and no words for documents that are.
func TestDocumentsOfIndex(t *testing.T) {
	index, err := os.ReadFile("index.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(index)) {
		if place, _, ok := strings.Cut(line, ": "); ok {
			document, _, _ := strings.Cut(place, "#")
			if _, err := os.Stat("../../" + document); err != nil {
				t.Error("index.txt: ", err)
			}
		}
	}
}

// TestPhone: no guide is wider than a phone.
func TestPhone(t *testing.T) {
	browser, address := start(t)
	pages, err := filepath.Glob(folder + "/docs/*.html")
	if err != nil || len(pages) < 8 {
		t.Fatal(pages, err)
	}
	for _, name := range pages {
		p, end, err := page.Visit(browser, address+"docs/"+filepath.Base(name), page.Phone)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range p.Sound(address) {
			t.Errorf("%s: %s", name, wrong)
		}
		end()
	}
}

// TestPlantedPage: faults of a page are found.
func TestPlantedPage(t *testing.T) {
	browser, address := start(t)
	for fault, want := range map[string]string{
		`<p style="width: 99rem">x</p>`:                   "pixels wide",
		`<p style="color: #ddd">x</p>`:                    "contrast",
		`<script src="http://127.0.0.1:9/x.js"></script>`: "asked for http://127.0.0.1:9/x.js",
		`<script>throw new Error('boom')</script>`:        "boom",
	} {
		p := open(t, browser, address+"README.html?fault="+url.QueryEscape(fault), page.Phone)
		if wrong := strings.Join(p.Sound(address), "\n"); !strings.Contains(wrong, want) {
			t.Errorf("%s: got %q, want %q", fault, wrong, want)
		}
	}
}
