package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/creack/pty"

	"github.com/sluice-go/sluice/tools/page"
)

// The folders of pictures and of what they are made from, in the repository.
const (
	folder   = "docs/pictures"
	captures = folder + "/captures"
)

// A terminalPicture is made from the output of a command that reads saved measurements.
type terminalPicture struct {
	name    string
	shown   string // the command in the picture
	args    []string
	in      string // the folder
	columns uint16
	most    int // at most this number of lines
}

// A workshop makes pictures.
type workshop struct {
	ctx    context.Context
	top    string // the repository
	dir    string // for programs and copies of measurements; removed at the end
	sluice string // the tool
}

func newWorkshop(ctx context.Context, top string) (*workshop, error) {
	top, err := filepath.Abs(top)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pictures-*")
	if err != nil {
		return nil, err
	}
	w := &workshop{ctx: ctx, top: top, dir: dir, sluice: filepath.Join(dir, "sluice")}
	if err := page.Build(ctx, w.path("cmd/sluice"), ".", w.sluice); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *workshop) close() { os.RemoveAll(w.dir) }

func (w *workshop) path(name string) string { return filepath.Join(w.top, filepath.FromSlash(name)) }

// draw returns the files of all pictures that are drawn from captures.
func (w *workshop) draw() (made map[string][]byte, err error) {
	const lab = "sluice-lab" // where the lab writes, too
	if err := w.unpack(captures+"/lab.json.gz", filepath.Join(w.dir, lab, "results.json")); err != nil {
		return nil, err
	}
	made = map[string][]byte{}
	for _, p := range []terminalPicture{
		{"lab.svg", "sluice lab", []string{"report", lab}, w.dir, 80, 45},
		{"doctor.svg", "sluice doctor -v localhost:4195", []string{"doctor", "-v", "doctor"}, w.path(captures), 100, 24},
	} {
		output, err := w.terminal(p.in, p.columns, p.args...)
		if err != nil {
			return nil, err
		}
		lines := parseScreen(output)
		prompt := [][]span{{{text: "$ ", style: style{dim: true}}, {text: p.shown, style: style{bold: true}}}}
		made[p.name] = drawScreen(p.shown+": "+sentence(lines), append(prompt, lines[:min(p.most, len(lines))]...))
	}
	for name, before := range map[string]string{"watch": "sluice watch: ", "send": ""} {
		screen, err := os.ReadFile(w.path(captures + "/" + name + ".txt"))
		if err != nil {
			return nil, err
		}
		lines := parseScreen(string(screen))
		made[name+".svg"] = drawScreen(before+sentence(lines), lines)
	}
	return made, nil
}

// terminal runs the tool in a terminal, and returns its output.
func (w *workshop) terminal(in string, columns uint16, args ...string) (string, error) {
	command := exec.CommandContext(w.ctx, w.sluice, args...)
	command.Dir = in
	command.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "LC_ALL=C.UTF-8", "COLUMNS=")
	terminal, err := pty.StartWithSize(command, &pty.Winsize{Cols: columns, Rows: 50})
	if err != nil {
		return "", err
	}
	defer terminal.Close()
	var output bytes.Buffer
	_, _ = io.Copy(&output, terminal) // the end of a terminal is an error
	if err := command.Wait(); err != nil {
		return "", fmt.Errorf("sluice %s: %w\n%s", strings.Join(args, " "), err, output.Bytes())
	}
	return output.String(), nil
}

// unpack writes a compressed file of the repository to another place.
func (w *workshop) unpack(name, to string) error {
	packed, err := os.ReadFile(w.path(name))
	if err != nil {
		return err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.WriteFile(to, text, 0o666))
}
