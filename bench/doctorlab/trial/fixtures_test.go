package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// programsDir is the folder of built programs.
var programsDir string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, remove, err := workspace()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer remove()
		programsDir = dir
		return m.Run()
	}())
}

// programsBuilt are the programs of builtOnce, by package.
var programsBuilt = struct {
	sync.Mutex
	paths map[string]string
}{paths: make(map[string]string)}

// builtOnce is a builder that builds each program once, and without debugging
// information. It ignores flags: withoutPaths takes most of a minute.
func builtOnce(ctx context.Context, pkg string, _ ...string) (string, error) {
	programsBuilt.Lock()
	defer programsBuilt.Unlock()
	program, ok := programsBuilt.paths[pkg]
	if ok {
		return program, nil
	}
	program, err := buildIn(programsDir)(ctx, pkg, "-ldflags=-w")
	if err == nil {
		programsBuilt.paths[pkg] = program
	}
	return program, err
}

// built returns both programs.
func built(t *testing.T) (p programs) {
	t.Helper()
	for pkg, program := range map[string]*string{doctor: &p.doctor, scenarioProgram: &p.scenario} {
		var err error
		if *program, err = builtOnce(t.Context(), pkg); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// scenariosOf returns the programs and all scenarios.
func scenariosOf(t *testing.T) (programs, []scenario) {
	t.Helper()
	programs := built(t)
	all, err := scenarios(t.Context(), programs.scenario)
	if err != nil {
		t.Fatal(err)
	}
	return programs, all
}

// Each scenario has a fixture with the same description, whose figures support
// the right answers.
func TestFixturesAreTrue(t *testing.T) {
	_, all := scenariosOf(t)
	for _, p := range all {
		truth, err := readTruth(filepath.Join("testdata", p.Name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !reflect.DeepEqual(truth.Scenario, p) {
			t.Errorf("%s: the fixture has %+v, the program has %+v", p.Name, truth.Scenario, p)
		}
		if err := truth.check(); err != nil {
			t.Error(err)
		}
		if len(truth.Gains) != len(p.Remedies) || truth.Date == "" || truth.Machine.Go == "" {
			t.Errorf("%s: incomplete truth: %+v", p.Name, truth)
		}
	}
	if dirs, err := fixtures("testdata"); err != nil || len(dirs) != len(all) {
		t.Errorf("%d fixtures for %d scenarios, %v", len(dirs), len(all), err)
	}
}

// maxFixtures is the size limit of all fixtures in bytes.
const maxFixtures = 6 << 20

// Fixtures contain nothing about the machine or user that captured them.
func TestFixturesArePrivate(t *testing.T) {
	size := 0
	err := filepath.WalkDir("testdata", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		size += len(data)
		if filepath.Ext(name) == ".pprof" {
			for _, path := range absolutePaths(t, name) {
				t.Errorf("%s has %q", name, path)
			}
		}
		for _, path := range private(t, data) {
			t.Errorf("%s has %q", name, path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if size > maxFixtures {
		t.Errorf("fixtures of %d kB (want at most %d)", size>>10, maxFixtures>>10)
	}
}

// private returns prefixes of local paths in data, compressed or not.
func private(t *testing.T, data []byte) (found []string) {
	t.Helper()
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/home/", "/root/", "/tmp/", "/Users/", "/usr/", "/var/", `C:\`} {
		if bytes.Contains(data, []byte(path)) {
			found = append(found, path)
		}
	}
	return found
}

func TestPrivate(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.Copy(w, strings.NewReader("main.go at /home/user/main.go")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{packed.Bytes(), []byte("/home/user")} {
		if got := private(t, data); len(got) != 1 || got[0] != "/home/" {
			t.Errorf("%q of %.20q", got, data)
		}
	}
	if got := private(t, []byte("github.com/sluice-go/sluice/main.go runtime/chan.go")); len(got) != 0 {
		t.Errorf("%q in public paths", got)
	}
}

// The rules reach the bar of the tuning set, and every fixture is scored. The
// score of the held-out set is only printed: a test that must pass would lead
// to tuning, and then nothing is held out. The command's exit status covers
// both sets.
func TestScore(t *testing.T) {
	programs, all := scenariosOf(t)
	var out bytes.Buffer
	got, err := score(t.Context(), &out, programs.doctor, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	for _, f := range []form{fullForm, bareForm} {
		scored := 0
		for _, s := range got.board(f).sheets {
			scored += len(s.lines)
		}
		if scored != len(all) {
			t.Errorf("form %s: %d of %d scenarios were scored", f.name, scored, len(all))
		}
	}
	for _, f := range forms {
		if tuning := got.board(f).sheet(tuningSet); !tuning.reached() {
			t.Errorf("form %s: the doctor is below the bar of the %s set", f.name, tuning.set.name)
		}
	}
	if !got.agreement.reached() || got.agreement.services == 0 {
		t.Errorf("repeated captures agree on %d of %d services", got.agreement.agree, got.agreement.services)
	}
}
