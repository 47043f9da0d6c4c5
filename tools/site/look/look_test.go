package look

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/tools/page"
)

var shots = flag.String("shots", "", "save screenshots in this directory")

// start starts a browser and makes the site of this repository.
func start(t *testing.T) (browser context.Context, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "site")
	if out, err := exec.Command("go", "run", "..", "-from", "../../..", "-o", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	browser, stop, err := page.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return browser, folder
}

func open(t *testing.T, browser context.Context, file string, view page.View) *page.Page {
	t.Helper()
	p, end, err := page.Open(browser, file, view)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return p
}

func TestSite(t *testing.T) {
	browser, folder := start(t)
	for _, name := range []string{"index.html", "docs/metrics.html", "docs/recipes.html", "bench/RESULTS.html", "source/sluice.go.html"} {
		for _, view := range []page.View{page.Phone, page.PhoneDark, page.Desk, page.DeskDark} {
			p := open(t, browser, filepath.Join(folder, name), view)
			for _, wrong := range Check(p) {
				t.Errorf("%s, %s: %s", name, view.Name, wrong)
			}
			if *shots != "" {
				_, data, err := p.Screenshot()
				if err == nil {
					err = os.WriteFile(filepath.Join(*shots, "site-"+strings.ReplaceAll(name, "/", "-")+"-"+view.Name+".png"), data, 0o666)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
	p := open(t, browser, filepath.Join(folder, "docs/adr/index.html"), page.Phone)
	for _, c := range []struct{ query, first, link string }{
		{"rate lim", "Recipes: Rate limit", "/docs/recipes.html#"},
		{"Thundering HERD", "How sluice is built", "/ARCHITECTURE.html"},
		{"sluicechannelstalled", "Metrics: Alerts", "/docs/metrics.html#alerts"},
		{"no such words anywhere", "Nothing found", ""},
		{"c++ (", "Nothing found", ""},
	} {
		titles, link, err := Search(p, c.query)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(titles[0], c.first) || !strings.Contains(link, c.link) {
			t.Errorf("search for %q: %q, first %s; want %s at %s", c.query, titles, link, c.first, c.link)
		}
	}
	for _, wrong := range p.Quiet() {
		t.Errorf("after searches: %s", wrong)
	}
}

// TestPlanted: faults are found.
func TestPlanted(t *testing.T) {
	browser, folder := start(t)
	file := filepath.Join(folder, "index.html")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, planted := range []struct{ from, to, want string }{
		{"<main id=\"main\">", "<main id=\"main\"><p style=\"width: 99rem\">x</p>", "pixels wide"},
		{"<main id=\"main\">", "<main id=\"main\"><p style=\"color: #ddd\">x</p>", "contrast"},
		{"</body>", "<script src=\"http://127.0.0.1:9/x.js\"></script></body>", "asked for http://127.0.0.1:9/x.js"},
		{"</body>", "<script>throw new Error('boom')</script></body>", "boom"},
	} {
		broken := bytes.Replace(text, []byte(planted.from), []byte(planted.to), 1)
		if err := os.WriteFile(file, broken, 0o666); err != nil {
			t.Fatal(err)
		}
		p := open(t, browser, file, page.Phone)
		if wrong := strings.Join(Check(p), "\n"); !strings.Contains(wrong, planted.want) {
			t.Errorf("%s: got %q, want %q", planted.to, wrong, planted.want)
		}
	}
}
