package page

import (
	"image"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// policy is the line of a page that forbids the planted faults. The checks must
// find them without it, too.
var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// Each check fails for a page with one planted fault.
func TestPlanted(t *testing.T) {
	suite.Proves(t, "that the checks of the page fail")
	end := func(planted string) func(string) string {
		return func(page string) string { return strings.Replace(page, "</main>", planted+"</main>", 1) }
	}
	style := func(planted string) func(string) string {
		return func(page string) string { return strings.Replace(page, "</style>", planted+"</style>", 1) }
	}
	change := func(pattern, by string) func(string) string {
		return func(page string) string { return regexp.MustCompile(pattern).ReplaceAllString(page, by) }
	}
	for _, planted := range []struct {
		name  string
		view  View
		plant func(string) string
		says  string
	}{
		{"remote image", Desk, end(`<img alt="x" src="http://127.0.0.1:9/x.png">`), "the page asked for http://127.0.0.1:9/x.png"},
		{"script error", Desk, end(`<script>undefined.x</script>`), "exception: "},
		{"word on the console", Desk, end(`<script>console.log("x")</script>`), "console.log"},
		{"cut label", Desk, style(`.chart .tick { transform: translate(-90px) }`), "“1” is cut off"},
		{"labels over each other", Phone, style(`.chart .tick { font-size: 40px }`), "lies over"},
		{"no label at an axis", Desk, change(`<p class="caption">.*</p>`, ``), "an axis has no label"},
		{"no figures at an axis", Desk, change(`<text[^>]*class="tick">[^<]*</text>`, ``), "an axis has no figures"},
		{"faint text", Phone, style(`.soft { color: #999 }`), "text .soft"},
		{"faint text in the dark", DeskDark, style(`.soft { color: #555 }`), "text .soft"},
		{"a light page in the dark", DeskDark, style(`html, body { background: #fff }`), "the ground is not dark"},
		{"faint mark", Desk, style(`.chart .line { stroke: #cde }`), "mark .line"},
		{"a chart without a name", Desk, change(`<figcaption>[^<]*</figcaption>`, ``), "it has no name"},
		{"through the axis", Desk, change(`y2="[0-9.]+" class="line`, `y2="127" class="line`), "is drawn through an axis"},
		{"a table that hides", Phone, style(`.scroll { background: none } table { width: 900px }`), "scrolls, and does not show it"},
		{"a column that leaves", Phone, style(`th:first-child { position: static } table { width: 900px }`), "scrolls with its first column"},
		{"a wide column", Phone, style(`th:first-child { min-width: 320px } table { width: 900px }`), "has no room beside its first column"},
		{"wide page", Phone, style(`.charts { min-width: 500px }`), "pixels wide in a view of 390"},
		{"a cut date", Phone, style(`header p > span { display: block; width: 5rem; overflow: hidden; white-space: nowrap; text-overflow: ellipsis }`), "January 2026” is cut off"},
		{"a cut question", Desk, style(`nav a { height: 1rem; overflow: hidden }`), "is cut off"},
		{"small chart", Desk, style(`.charts { grid-template-columns: repeat(9, 1fr) }`), "too small to read"},
		{"table out of reach", Desk, change(` tabindex="0"`, ``), "cannot be reached by a keyboard"},
		{"closed on paper", Paper, change(`details::details-content`, `details::gone`), "is hidden"},
		{"cut on paper", Paper, style(`@media print { figure { break-inside: auto } }`), "cut by the end of a page"},
		{"no breaks on paper", Paper, style(`@media print { section.study { break-before: auto } }`), "does not begin a page"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			wrong := open(t, plant(t, planted.plant), planted.view).Check(planted.view)
			if !strings.Contains(strings.Join(wrong, "\n"), planted.says) {
				t.Errorf("reported: %q", wrong)
			}
		})
	}
}

// plant returns a file with the made-up page, changed and without its policy.
func plant(t *testing.T, change func(string) string) string {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join(pages(t), "made-up.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := policy.ReplaceAllString(string(whole), "")
	changed := change(page)
	if changed == page {
		t.Fatal("nothing was planted")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// complaints returns the faults of a page.
func complaints(t *testing.T, text string, view View) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, file, view).Check(view)
}

// The policy of the page blocks foreign content, and the browser reports that.
func TestPolicyStops(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(pages(t), "made-up.html"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := complaints(t, strings.Replace(string(whole), "</main>",
		`<script>undefined.x</script><p class="soft" style="color: #fff">x</p><img alt="x" src="http://127.0.0.1:9/x.png"></main>`, 1), Desk)
	said := strings.Join(wrong, "\n")
	for _, stopped := range []string{"Executing inline script violates", "Applying inline style violates", "Loading the image"} {
		if !strings.Contains(said, stopped) {
			t.Errorf("not %q, but %q", stopped, wrong)
		}
	}
	if strings.Contains(said, "exception: ") || strings.Contains(said, "contrast") {
		t.Errorf("the script ran, or the style was applied: %q", wrong)
	}
}

// A picture differs if a mark moves slightly, a line loses its dashes, or a
// color changes, but not if edges are smoothed differently.
func TestPicturesDiffer(t *testing.T) {
	file := filepath.Join(pages(t), "made-up.html")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := charts(t, file, Desk)
	for _, planted := range []struct {
		name, from, to string
		differs        bool
	}{
		{"nothing", "x", "x", false},
		{"smoothing", ".chart { display", ".chart { shape-rendering: geometricPrecision; display", false},
		{"a hair", "stroke-width: 1.7;", "stroke-width: 1.75;", false},
		{"dashes", "stroke-dasharray: 5 3", "stroke-dasharray: none", true},
		{"a colour", "--p0: #d2560f", "--p0: #2b6be4", true},
		{"no shade", ".chart .shade { fill: var(--shade); }", ".chart .shade { fill: #888; }", true},
		{"no marks", "\n.dot { fill: var(--c); }", "\n.dot { fill: none; }", true},
	} {
		t.Run(planted.name, func(t *testing.T) {
			changed := filepath.Join(t.TempDir(), "page.html")
			text := strings.Replace(policy.ReplaceAllString(string(whole), ""), planted.from, planted.to, 1)
			if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if wrong := compare(t, want, charts(t, changed, Desk)); (len(wrong) > 0) != planted.differs {
				t.Errorf("differences: %q", wrong)
			}
		})
	}
}

func TestSizesDiffer(t *testing.T) {
	a, b := image.NewRGBA(image.Rect(0, 0, 100, 2000)), image.NewRGBA(image.Rect(0, 0, 100, 1999))
	if wrong := Compare(a, b); len(wrong) != 1 {
		t.Errorf("two sizes: reported %q", wrong)
	}
}
