package main

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const repository = "../.."

// TestUpToDate: the pictures show what the tool and the page show today. After an
// intended change: make pictures.
func TestUpToDate(t *testing.T) {
	w, err := newWorkshop(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	made, err := w.draw()
	if err != nil {
		t.Fatal(err)
	}
	top := os.DirFS(repository)
	wrong, err := stale(top, made)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Errorf("%s: look at the change, then run make pictures", w)
	}
	if len(made) != 4 {
		t.Errorf("%d drawn pictures", len(made))
	}
	made["doctor.svg"] = append(made["doctor.svg"], ' ')
	if planted, _ := stale(top, made); len(planted) != len(wrong)+1 {
		t.Errorf("another output of the doctor: %q", planted)
	}

	total := int64(0)
	err = fs.WalkDir(top, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if limit := int64(1_500_000); err != nil || total > limit {
		t.Errorf("the pictures have %d bytes, at most %d: %v", total, limit, err)
	}
}

// TestShown: documents show each picture, with what it says as the text in its place.
func TestShown(t *testing.T) {
	top := os.DirFS(repository)
	picture := func(name string) ([]byte, error) { return fs.ReadFile(top, folder+"/"+name) }
	var found []string
	for _, name := range shows {
		document, err := fs.ReadFile(top, name)
		if err != nil {
			t.Fatal(err)
		}
		with, names, err := retitle(document, picture)
		if err != nil || !bytes.Equal(with, document) {
			t.Errorf("%s: a picture says something else than the text in its place: run make pictures (%v)", name, err)
		}
		found = append(found, names...)
	}
	files, err := fs.Glob(top, folder+"/*.*")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := path.Base(file)
		if data, err := picture(name); err != nil || len(titleOf(data)) < 20 {
			t.Errorf("%s has no title: capture it again", name)
		}
		if !slices.Contains(found, name) {
			t.Errorf("no document shows %s", name)
		}
	}
}

func TestTitles(t *testing.T) {
	var blank bytes.Buffer
	if err := png.Encode(&blank, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	titled := withTitle(blank.Bytes(), "The page: read is slow.")
	if _, err := png.Decode(bytes.NewReader(titled)); err != nil { // the chunk's CRC is checked
		t.Error(err)
	}
	drawn := drawScreen("a[0] < b", [][]span{{{text: "x"}}})
	picture := func(name string) ([]byte, error) {
		return map[string][]byte{"page.png": titled, "screen.svg": drawn}[name], nil
	}
	with, names, err := retitle([]byte("![](pictures/page.png) and\n![fast](docs/pictures/screen.svg), ![x](other.svg)\n"), picture)
	want := "![The page: read is slow.](pictures/page.png) and\n![a(0) < b](docs/pictures/screen.svg), ![x](other.svg)\n"
	if string(with) != want || len(names) != 2 || err != nil {
		t.Errorf("%s %q %v", with, names, err)
	}
}

func TestSentence(t *testing.T) {
	for screen, want := range map[string]string{
		"head\n\x1b[1ma is\x1b[0m\n\x1b[1m  slow.\x1b[0m\n\nrest\n\x1b[1mb\x1b[0m\n": "a is slow.",
		"\x1b[31;1mred\x1b[0m\n\x1b[1mbold\x1b[0m not\n":                             "",
	} {
		if got := sentence(parseScreen(screen)); got != want {
			t.Errorf("%q: %q, want %q", screen, got, want)
		}
	}
}

func TestChanged(t *testing.T) {
	tree := fstest.MapFS{
		"livepage/page.css":              {Data: []byte("body {}")},
		"livepage/page/flow.js":          {Data: []byte("1")},
		"tools/live/service/pipeline.go": {Data: []byte("package main")},
	}
	all, err := changed(tree)
	if err != nil || strings.Join(all, " ") != "map watch" {
		t.Fatalf("without stored hashes: %q, %v", all, err)
	}
	text := `{"map": "` + must(hash(tree, inputs["map"])) + `", "watch": "` + must(hash(tree, inputs["watch"])) + `"}`
	tree[inputsFile] = &fstest.MapFile{Data: []byte(text)}
	if names, err := changed(tree); err != nil || len(names) > 0 {
		t.Errorf("with the stored hashes: %q, %v", names, err)
	}
	for name, want := range map[string]string{"livepage/page.css": "map", "livepage/page/flow.js": "map", "livepage/page/new.js": "map",
		"cmd/sluice/internal/watch/testdata/list.txt": "watch", "tools/live/service/pipeline.go": "map watch"} {
		before := tree[name]
		tree[name] = &fstest.MapFile{Data: []byte("changed")}
		if names, err := changed(tree); err != nil || strings.Join(names, " ") != want {
			t.Errorf("after a change of %s: %q, %v, want %s", name, names, err, want)
		}
		if tree[name] = before; before == nil {
			delete(tree, name)
		}
	}
}

func must(hash string, err error) string {
	if err != nil {
		panic(err)
	}
	return hash
}

func TestDrawScreen(t *testing.T) {
	const screen = "\x1b[1mname\x1b[0m  \x1b[38;5;131mfull <1>\x1b[39m ok\r\n▄▄█ ▌\x1b[2Kx\x1b[7m  rev\x1b[0m\n\n"
	lines := parseScreen(screen)
	if len(lines) != 2 || plain(lines[0]) != "name  full <1> ok" || plain(lines[1]) != "▄▄█ ▌x  rev" || width(lines[1]) != 11 {
		t.Fatalf("parsed %v", lines)
	}
	picture := string(drawScreen("a & b", lines))
	for _, want := range []string{
		`<title>a &amp; b</title>`,
		`<text class="bold" x="16" y="29.5" textLength="33.6">name</text>`,
		`<text style="fill:#af5f5f" x="66.4" y="29.5" textLength="67.2">full &lt;1&gt;</text>`,
		`<rect class="block" x="16" y="43" width="16.8" height="9"/>`,
		`<rect class="block" x="32.8" y="34" width="8.4" height="18"/>`,
		`<rect class="block" x="49.6" y="34" width="4.2" height="18"/>`,
		`<text style="fill:var(--paper)" x="83.2" y="47.5" textLength="25.2">rev</text>`,
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("no %s in\n%s", want, picture)
		}
	}
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSteps: the steps of a Send name functions that exist.
func TestSteps(t *testing.T) {
	var sources []byte
	for _, name := range []string{"spill/record_batch.go", "spill/durable_send.go", "spill/durable_policy.go", "spill/internal/logstore/write.go"} {
		text, err := os.ReadFile(repository + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, text...)
	}
	steps, err := os.ReadFile(repository + "/" + captures + "/send.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("\x1b\\[m\x1b\\[2m  (\\w+)\x1b").FindAllSubmatch(steps, -1)
	if len(found) != 12 {
		t.Errorf("%d steps", len(found))
	}
	for _, step := range found {
		if !regexp.MustCompile(`(?m)^func (\(.*\) )?` + string(step[1]) + `\(`).Match(sources) {
			t.Errorf("there is no function %s", step[1])
		}
	}
}

func TestRunRefuses(t *testing.T) {
	if err := run(t.Context(), repository, "lab,cinema"); err == nil || !strings.Contains(err.Error(), `unknown capture "cinema"`) {
		t.Errorf("got %v", err)
	}
}
