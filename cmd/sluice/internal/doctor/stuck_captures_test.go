package doctor

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/internal/suite"
)

var update = flag.Bool("update", false, "run the programs of TestGoKer and TestHealthy, and rewrite their captures")

// stored has what was captured of the GoKer programs in the Go sources, and of those in
// testdata/healthy, as paragraphs of a compressed text. The first byte says what each is:
// the name of a program, a goroutine of its first dump, of its second dump or of both, or
// a part of its leak profile.
const stored = "testdata/programs.gz"

// A program is what was captured of one.
type program struct{ first, second, leaks strings.Builder }

// dumps returns two dumps without the marks of the collector.
func (p *program) dumps() []capture.File {
	return []capture.File{{Name: "1.txt", Data: []byte(p.first.String())}, {Name: "2.txt", Data: []byte(p.second.String())}}
}

func (p *program) profile() []capture.File {
	return []capture.File{{Name: "goroutineleak.txt", Data: []byte(p.leaks.String())}}
}

// capturesOf returns the captures of a group by the names of the programs. With -update,
// or with SLUICE_TEST=long in the environment, the programs run now.
func capturesOf(t *testing.T, group string) map[string]*program {
	if !*update {
		suite.Needs(t, "the stored captures of programs")
	}
	all := readPrograms(t)
	if *update || suite.Long() {
		if all[group] = runPrograms(t, group); *update {
			writePrograms(t, all)
		}
	}
	return all[group]
}

func readPrograms(t *testing.T) map[string]map[string]*program {
	all := map[string]map[string]*program{}
	data, err := os.ReadFile(stored)
	if err != nil && *update {
		return all
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var p *program
	for paragraph := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		kind, text := paragraph[0], paragraph[1:]
		if kind == '#' {
			group, name, _ := strings.Cut(text, " ")
			if all[group] == nil {
				all[group] = map[string]*program{}
			}
			p = &program{}
			all[group][name] = p
		}
		for _, to := range map[byte][]*strings.Builder{'1': {&p.first}, '2': {&p.second}, '=': {&p.first, &p.second}, 'L': {&p.leaks}}[kind] {
			to.WriteString(text + "\n\n")
		}
	}
	return all
}

func writePrograms(t *testing.T, all map[string]map[string]*program) {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	paragraphs := func(b *strings.Builder) []string { return strings.Split(strings.TrimSpace(b.String()), "\n\n") }
	for _, group := range slices.Sorted(maps.Keys(all)) {
		for _, name := range slices.Sorted(maps.Keys(all[group])) {
			p := all[group][name]
			fmt.Fprintf(z, "#%s %s\n\n", group, name)
			in := map[string]int{}
			for i, b := range []*strings.Builder{&p.first, &p.second} {
				for _, g := range paragraphs(b) {
					in[g] |= i + 1
				}
			}
			for _, g := range append(paragraphs(&p.first), paragraphs(&p.second)...) {
				if in[g] > 0 {
					fmt.Fprintf(z, "%c%s\n\n", " 12="[in[g]], g)
				}
				in[g] = 0
			}
			for _, part := range paragraphs(&p.leaks) {
				fmt.Fprintf(z, "L%s\n\n", part)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stored, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// attempts is how often a program runs until its bug happens: most depend on the
// scheduler.
const attempts = 6

// runPrograms builds and runs the programs of a group.
func runPrograms(t *testing.T, group string) map[string]*program {
	folder, tries, settle := "testdata/healthy", 1, "300ms"
	binary := filepath.Join(t.TempDir(), "programs")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, ".")
	build.Env = os.Environ()
	if group == "goker" {
		folder, tries, settle = gokerModule(t), attempts, "1500ms"
		build.Env = append(build.Env, "GOWORK=off")
	}
	build.Dir = folder
	if strings.HasPrefix(runtime.Version(), "go1.26") {
		build.Env = append(build.Env, "GOEXPERIMENT=goroutineleakprofile")
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names, err := exec.Command(binary).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	all := map[string]*program{}
	running := make(chan struct{}, 16) // most of them sleep
	var done sync.WaitGroup
	for name := range strings.FieldsSeq(string(names)) {
		done.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			var p *program
			for try := range tries {
				if p = runProgram(t, binary, name, settle, []int{2, 4, 8, 1}[try%4]); strings.Contains(p.leaks.String(), " @ ") {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all[name] = p
		})
	}
	done.Wait()
	return all
}

// gokerModule returns a module with the GoKer programs of the Go release.
func gokerModule(t *testing.T) string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", "testdata", "testgoroutineleakprofile", "goker")
	module := t.TempDir()
	if err := os.CopyFS(module, os.DirFS(folder)); err != nil {
		t.Skip("this Go release has no GoKer programs: ", err)
	}
	harness, err := os.ReadFile("testdata/healthy/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"main.go": harness, "go.mod": []byte("module goker\n\ngo 1.26\n")} {
		file := filepath.Join(module, name)
		_ = os.Remove(file) // it may be read-only
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return module
}

// noise is what differs between goroutines at one place and does not matter: arguments,
// offsets, and the marks of the collector.
var noise = regexp.MustCompile(`(?m)(\()(?:0x|\{|\.\.\.).*(\))$| \+0x[0-9a-f]+| \(leaked\)`)

// runProgram captures one program.
func runProgram(t *testing.T, binary, name, settle string, procs int) *program {
	folder, p := t.TempDir(), &program{}
	command := exec.Command(binary, name, folder, settle)
	command.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", procs))
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
	for name, to := range map[string]*strings.Builder{"1.txt": &p.first, "2.txt": &p.second, "leaks.txt": &p.leaks} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil && name != "leaks.txt" {
			t.Error(err)
		}
		to.Write(noise.ReplaceAll(data, []byte("$1$2")))
	}
	return p
}
