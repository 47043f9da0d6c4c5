package doctor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// goker is what is missing in the blocking bugs that ship with the tests of the runtime
// (runtime/testdata/testgoroutineleakprofile/goker), by the comments in the programs and
// their README.md. Several words: the bug can be seen as either.
var goker = map[string]string{
	"Cockroach10214": "lock order", "Cockroach1055": "done", "Cockroach10790": "sender", "Cockroach13197": "cancel",
	"Cockroach13755": "cancel", "Cockroach1462": "receiver", "Cockroach16167": "unlock", "Cockroach18101": "receiver",
	"Cockroach2448": "receiver", "Cockroach24808": "receiver", "Cockroach25456": "close", "Cockroach35073": "receiver",
	"Cockroach35931": "receiver", "Cockroach3710": "unlock", "Cockroach584": "unlock", "Cockroach6181": "unlock",
	"Cockroach7504": "lock order", "Cockroach9935": "unlock", "Etcd10492": "unlock", "Etcd5509": "unlock",
	"Etcd6708": "unlock", "Etcd6857": "receiver", "Etcd6873": "close", "Etcd7492": "receiver", "Etcd7902": "close",
	"Grpc1275": "sender", "Grpc1424": "close", "Grpc1460": "sender", "Grpc3017": "unlock", "Grpc660": "receiver",
	"Grpc795": "unlock", "Grpc862": "cancel", "Hugo3251": "lock order", "Hugo5379": "unlock", "Istio16224": "receiver",
	"Istio17860": "receiver", "Istio18454": "sender, receiver", "Kubernetes10182": "receiver", "Kubernetes11298": "signal",
	"Kubernetes13135": "lock order", "Kubernetes1321": "receiver", "Kubernetes25331": "receiver", "Kubernetes26980": "sender",
	"Kubernetes30872": "lock order", "Kubernetes38669": "receiver", "Kubernetes5316": "receiver",
	"Kubernetes58107": "signal, unlock", "Kubernetes62464": "unlock", "Kubernetes6632": "receiver", "Kubernetes70277": "close",
	"Moby17176": "unlock", "Moby21233": "receiver", "Moby25348": "done", "Moby27782": "signal, receiver",
	"Moby28462": "receiver", "Moby30408": "signal", "Moby33781": "receiver", "Moby36114": "unlock", "Moby4951": "lock order",
	"Moby7559": "unlock", "Serving2137": "receiver, slot", "Syncthing4829": "unlock", "Syncthing5795": "close",
}

// attempts is how often a program runs until its bug happens: most depend on the
// scheduler.
const attempts = 6

// TestGoKer names the line of the leak and what is missing there, from the leak profile
// and from two dumps that do not have what the collector found.
func TestGoKer(t *testing.T) {
	if testing.Short() {
		t.Skip("runs 63 programs for two seconds each")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", "testdata", "testgoroutineleakprofile", "goker")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("this Go release has no GoKer programs: ", err)
	}
	module := t.TempDir()
	if err := os.CopyFS(module, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	harness, err := os.ReadFile("testdata/healthy/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"main.go": harness, "go.mod": []byte("module goker\n\ngo 1.26\n")} {
		file := filepath.Join(module, name)
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	programs := buildPrograms(t, module, "GOWORK=off")

	var mu sync.Mutex
	happened, proved, named, missing := 0, 0, 0, 0
	var all sync.WaitGroup
	for name, want := range goker {
		all.Go(func() {
			var dumps []capture.File
			var truth *observe.Observation
			var byProfile *blockage
			for procs := range attempts {
				var profile []capture.File
				dumps, profile = programs.run(t, name, "1500ms", 1<<(procs%4))
				truth = observationOf(t, readFiles(t, profile))
				if byProfile = mostSure(stuck(truth)); byProfile != nil {
					break
				}
			}
			byDumps := mostSure(stuck(observationOf(t, readFiles(t, dumps))))
			mu.Lock()
			defer mu.Unlock()
			if byProfile == nil {
				t.Log(name, "did not happen")
				return
			}
			happened++
			if leaksAt(truth, byProfile) {
				proved++
			}
			if byDumps == nil {
				t.Logf("%s: two dumps: nothing; missing: %s", name, want)
				return
			}
			if leaksAt(truth, byDumps) {
				named++
			} else {
				t.Logf("%s: not a place of the leak: %s", name, byDumps.Text)
			}
			if slices.Contains(strings.Split(want, ", "), byDumps.Missing) {
				missing++
			} else {
				t.Logf("%s: missing: %q, not %q: %s", name, byDumps.Missing, want, byDumps.Text)
			}
		})
	}
	all.Wait()
	t.Logf("of %d bugs, %d happened. The leaking line is named with the leak profile: %d; from two dumps: %d; what is missing: %d",
		len(goker), happened, proved, named, missing)
	rare := len(goker) - happened // the scheduler decides
	if proved < 60-rare || named < 45-rare || missing < 45-rare {
		t.Error("too few: 60, 45 and 45 are due")
	}
}

// TestHealthy calls nothing stuck in programs that are at rest, at work, or as fast as
// their slowest part.
func TestHealthy(t *testing.T) {
	if testing.Short() {
		t.Skip("runs 50 programs for a second each")
	}
	programs := buildPrograms(t, "testdata/healthy")
	names, err := exec.Command(programs.name).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for name := range strings.FieldsSeq(string(names)) {
		all.Go(func() {
			two, _ := programs.run(t, name, "300ms", 2)
			for _, files := range [][]capture.File{two, two[1:]} {
				if b := mostSure(stuck(observationOf(t, readFiles(t, files)))); b != nil {
					t.Errorf("%s: %d dumps: %.2f %s: %s %+v", name, len(files), b.Probability, b.Kind, b.Text, b.At)
				}
			}
		})
	}
	all.Wait()
}

// mostSure returns the blockage that the doctor would name, or nil.
func mostSure(all []blockage) *blockage {
	if len(all) == 0 || all[0].Probability < sure {
		return nil
	}
	return &all[0]
}

// leaksAt reports whether goroutines at the place of b are leaked.
func leaksAt(truth *observe.Observation, b *blockage) bool {
	return slices.ContainsFunc(truth.Stood, func(r observe.Standing) bool {
		return r.At.Function == b.At.Function && r.At.Line == b.At.Line
	})
}

// A binary runs programs.
type binary struct{ name string }

// running bounds the programs that run at the same time: most of them sleep.
var running = make(chan struct{}, 16)

func buildPrograms(t *testing.T, folder string, environment ...string) *binary {
	t.Helper()
	b := &binary{filepath.Join(t.TempDir(), "programs")}
	command := exec.Command("go", "build", "-o", b.name, ".")
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	if strings.HasPrefix(runtime.Version(), "go1.26") {
		command.Env = append(command.Env, "GOEXPERIMENT=goroutineleakprofile")
	}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return b
}

// run returns two dumps without the marks of the collector, and the leak profile.
func (b *binary) run(t *testing.T, name, settle string, procs int) (dumps, profile []capture.File) {
	running <- struct{}{}
	defer func() { <-running }()
	folder := t.TempDir()
	command := exec.Command(b.name, name, folder, settle)
	command.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", procs))
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
	for _, name := range []string{"1.txt", "2.txt"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
		}
		dumps = append(dumps, capture.File{Name: name, Data: bytes.ReplaceAll(data, []byte(" (leaked)"), nil)})
	}
	if data, err := os.ReadFile(filepath.Join(folder, "leaks.pprof")); err == nil {
		profile = append(profile, capture.File{Name: "goroutineleak.pprof", Data: data})
	}
	return dumps, profile
}

func readFiles(t *testing.T, files []capture.File) *capture.Capture {
	c, err := capture.Read(nil, files)
	if err != nil {
		t.Error(err)
		return &capture.Capture{}
	}
	return c
}

func observationOf(t *testing.T, c *capture.Capture) *observe.Observation {
	o, err := observe.Of(c)
	if err != nil {
		t.Log(err) // nothing leaked, for one
		return &observe.Observation{}
	}
	return o
}
