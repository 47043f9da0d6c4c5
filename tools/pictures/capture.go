package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluice-go/sluice/tools/page"
)

// warm is how long the program runs before a capture, so that rates and histories are
// there.
const warm = 20 * time.Second

// The size of sluice watch, in characters.
const watchColumns, watchHeight = 110, 20

// capture measures or shows what the named pictures are made from.
func (w *workshop) capture(names []string) error {
	if slices.Contains(names, "lab") {
		if err := w.captureLab(); err != nil {
			return err
		}
	}
	if !slices.Contains(names, "watch") && !slices.Contains(names, "map") {
		return nil
	}
	program := filepath.Join(w.dir, "service")
	if err := page.Build(w.ctx, w.path("tools"), "./live/service", program); err != nil {
		return err
	}
	url, stop, err := page.Serve(w.ctx, program, "-pipeline")
	if err != nil {
		return err
	}
	defer stop()
	if slices.Contains(names, "watch") {
		if err := w.captureWatch(url); err != nil {
			return err
		}
	}
	if slices.Contains(names, "map") {
		if err := w.captureMap(url); err != nil {
			return err
		}
	}
	return w.storeInputs(names)
}

// captureLab runs the lab and saves its results. With -count each point has all its repetitions, also on a
// machine that is slower than most: then it takes five minutes, not three.
func (w *workshop) captureLab() error {
	fmt.Println("lab: measuring, in three to five minutes")
	out := filepath.Join(w.dir, "measured")
	lab := exec.CommandContext(w.ctx, w.sluice, "lab", "-count", "6", "-o", out)
	lab.Stderr = os.Stderr
	if err := lab.Run(); err != nil {
		return fmt.Errorf("sluice lab: %w", err)
	}
	results, err := os.ReadFile(filepath.Join(out, "results.json"))
	if err != nil {
		return err
	}
	var run struct{ Overview struct{ Sentence string } }
	if err := json.Unmarshal(results, &run); err != nil {
		return err
	}
	screen, err := w.terminal(w.dir, 80, "report", out)
	if err != nil {
		return err
	}
	if said := sentence(parseScreen(screen)); said != run.Overview.Sentence {
		return fmt.Errorf("the picture of the lab would begin with %q: run again when the machine is idle", said)
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if _, err := z.Write(results); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(w.path(captures+"/lab.json.gz"), packed.Bytes(), 0o666)
}

// captureWatch shows the program in a terminal with sluice watch.
func (w *workshop) captureWatch(url string) error {
	fmt.Println("watch: in", warm)
	tmux := func(args ...string) ([]byte, error) {
		return exec.CommandContext(w.ctx, "tmux", append([]string{"-L", "sluice-pictures", "-f", "/dev/null"}, args...)...).Output()
	}
	if _, err := tmux("new-session", "-d", "-s", "watch", "-x", fmt.Sprint(watchColumns), "-y", fmt.Sprint(watchHeight), w.sluice+" watch "+url); err != nil {
		return fmt.Errorf("tmux: %w (install tmux)", err)
	}
	defer tmux("kill-session", "-t", "watch")
	time.Sleep(warm)
	screen, err := tmux("capture-pane", "-e", "-p", "-t", "watch")
	if err != nil {
		return fmt.Errorf("tmux: %w", err)
	}
	return w.keep(captures+"/watch.txt", screen)
}

// captureMap takes a picture of the program's live page.
func (w *workshop) captureMap(url string) error {
	fmt.Println("map: in", warm)
	browser, stop, err := page.Start(w.ctx)
	if err != nil {
		return err
	}
	defer stop()
	view := page.Desk
	view.Still = true // a bar that is on its way would not show the fill beside it
	p, end, err := page.Visit(browser, url, view)
	if err != nil {
		return err
	}
	defer end()
	time.Sleep(warm)
	said, err := chromedp.Run(p.Context(), chromedp.Evaluate[string](`document.querySelector("#sentence").textContent`))
	if err != nil {
		return err
	}
	picture, err := p.Screen()
	if err != nil {
		return err
	}
	return w.keep(folder+"/map.png", withTitle(picture, "The live page: "+said))
}

// keep writes a capture. It has the time of day: one that equals the stored one is not new.
func (w *workshop) keep(name string, capture []byte) error {
	if stored, err := os.ReadFile(w.path(name)); err == nil && bytes.Equal(stored, capture) {
		return fmt.Errorf("%s: the capture is the one that is stored (start again)", name)
	}
	fmt.Printf("%s: %d bytes\n", name, len(capture))
	return os.WriteFile(w.path(name), capture, 0o666)
}
