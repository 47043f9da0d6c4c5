package page

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "update the stored pictures of the charts")
	shots  = flag.String("shots", "", "save screenshots and the PDF in this directory, for inspection")
)

// top is the path of the repository.
const top = "../.."

// shared has the browser and the pages of all tests.
var shared = struct {
	sync.Once
	browser context.Context
	dir     string // has sluice, made-up.html, quick/ and interrupted/
	err     error
}{}

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "page-*")
	if err != nil {
		panic(err)
	}
	browser, stop, err := Start(context.Background())
	if err == nil {
		shared.browser, shared.dir = browser, dir
		status := m.Run()
		stop()
		os.RemoveAll(dir)
		os.Exit(status)
	}
	os.RemoveAll(dir)
	os.Stderr.WriteString("page: " + err.Error() + "\n")
	os.Exit(1)
}

// pages makes the pages once, and returns their directory.
func pages(t *testing.T) string {
	t.Helper()
	shared.Do(func() { shared.err = makePages(shared.dir) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.dir
}

// makePages makes a page of made-up figures, which is always the same; one of a
// quick run of all experiments; and one of an interrupted run.
func makePages(dir string) error {
	return errors.Join(
		inTop("test", "-count=1", "./cmd/sluice/internal/report", "-run=^TestPageToFile$", "-args", "-page", filepath.Join(dir, "made-up.html")),
		inTop("build", "-o", filepath.Join(dir, "sluice"), "./cmd/sluice"),
		run(exec.Command(filepath.Join(dir, "sluice"), "lab", "-quick", "-procs", "1,2", "-o", filepath.Join(dir, "quick"))),
		interrupt(exec.Command(filepath.Join(dir, "sluice"), "lab", "-o", filepath.Join(dir, "interrupted")), filepath.Join(dir, "interrupted", "report.html")),
	)
}

// inTop runs a go command in the workspace, of which this module is not a part.
func inTop(args ...string) error {
	command := exec.Command("go", args...)
	command.Dir = top
	command.Env = append(os.Environ(), "GOWORK=")
	return run(command)
}

func run(command *exec.Cmd) error {
	out, err := command.CombinedOutput()
	if err != nil {
		return errors.New(command.String() + ": " + err.Error() + "\n" + string(out))
	}
	return nil
}

// interrupt interrupts the command when it has written its first report, which it
// does after its first point, and checks its exit status.
func interrupt(command *exec.Cmd, report string) error {
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for _, err := os.Stat(report); err != nil; _, err = os.Stat(report) {
		select {
		case err := <-ended:
			return fmt.Errorf("the lab ends before its first report: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	err := <-ended
	if status := new(exec.ExitError); !errors.As(err, &status) || status.ExitCode() != 130 {
		return fmt.Errorf("after an interrupt the lab ends with %v", err)
	}
	return nil
}

func open(t *testing.T, file string, view View) *Page {
	t.Helper()
	p, end, err := Open(shared.browser, file, view)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return p
}

// keep saves data for inspection, with -shots.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if *shots == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*shots, name), data, 0o644); err != nil {
		t.Error(err)
	}
}

func TestReports(t *testing.T) {
	dir := pages(t)
	for _, report := range []struct{ name, file string }{
		{"made-up", "made-up.html"}, {"quick", "quick/report.html"}, {"interrupted", "interrupted/report.html"},
	} {
		for _, view := range []View{Phone, PhoneDark, Desk, DeskDark, Paper} {
			t.Run(report.name+"/"+view.Name, func(t *testing.T) {
				p := open(t, filepath.Join(dir, report.file), view)
				for _, wrong := range p.Check(view) {
					t.Error(wrong)
				}
				if *shots != "" {
					data, err := p.Screenshot()
					if err != nil {
						t.Fatal(err)
					}
					keep(t, report.name+"-"+view.Name+"-unfolded.png", data)
				}
			})
		}
	}
}

// The printed report has at least one A4 sheet for the summary, one for each
// experiment, and one for the explanation.
func TestPrint(t *testing.T) {
	file := filepath.Join(pages(t), "quick", "report.html")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	studies := strings.Count(string(text), `class="study"`)
	p := open(t, file, Paper)
	pdf, sheets, err := p.PDF()
	if err != nil {
		t.Fatal(err)
	}
	keep(t, "quick.pdf", pdf)
	if studies == 0 || sheets < studies+2 {
		t.Errorf("%d sheets for %d experiments", sheets, studies)
	}
	width, height, err := Size(pdf)
	if err != nil || width < 594 || width > 597 || height < 841 || height > 843 {
		t.Errorf("a sheet of %v by %v points, %v; A4 has 595 by 842", width, height, err)
	}
}

func TestPictures(t *testing.T) {
	for _, view := range []View{Desk, DeskDark} {
		t.Run(view.Scheme, func(t *testing.T) {
			data := charts(t, filepath.Join(pages(t), "made-up.html"), view)
			stored := filepath.Join("testdata", view.Scheme+".png")
			if *update {
				if err := os.WriteFile(stored, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(stored)
			if err != nil {
				t.Fatal(err)
			}
			keep(t, "charts-"+view.Scheme+".png", data)
			for _, wrong := range compare(t, want, data) {
				t.Errorf("%s: %s; look at it with -shots, store it with -update", stored, wrong)
			}
		})
	}
}

// charts returns a picture of a page's charts alone.
func charts(t *testing.T, file string, view View) []byte {
	t.Helper()
	view.Width = 400
	p := open(t, file, view)
	for _, wrong := range p.Ask("strip") {
		t.Fatal(wrong)
	}
	data, err := p.Screenshot()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func compare(t *testing.T, want, got []byte) []string {
	t.Helper()
	a, err := png.Decode(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	b, err := png.Decode(bytes.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	return Compare(a, b)
}
