package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// asScenario in the environment makes the test binary run as the scenarios'
// program.
const asScenario = "SLUICE_TEST_AS_SCENARIO"

func TestMain(m *testing.M) {
	if os.Getenv(asScenario) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// launch runs the program and returns the address that it prints. The process
// is killed when the test ends.
func launch(t *testing.T, args ...string) (address string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], append(args, "-for", "2m")...)
	command.Env = append(os.Environ(), asScenario+"=1")
	var stderr bytes.Buffer // panics and races are reported here
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		_ = command.Wait() // killed: the error is expected
		if stderr.Len() > 0 {
			t.Errorf("%q:\n%s", args, stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("it printed %q: %v", line, err)
	}
	_, address, ok := strings.Cut(strings.TrimSpace(line), "http://")
	if !ok {
		t.Fatalf("no address in %q", line)
	}
	return "http://" + strings.TrimSuffix(address, "/debug/pprof/")
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, response.Status, err)
	}
	return body
}

// Every scenario processes items as found and with each remedy: the first item
// ends the wait, otherwise the test times out. As found, stacks show the
// functions of the right answers.
func TestEveryBuildWorks(t *testing.T) {
	for _, v := range all() {
		for _, remedy := range append([]string{asFound}, v.Remedies...) {
			t.Run(v.Name+"/"+remedy, func(t *testing.T) {
				address := launch(t, "-scenario", v.Name, "-remedy", remedy)
				var r reading
				for r.Items == 0 { // each process uses all CPUs until it ends
					if err := json.Unmarshal(get(t, address+"/stats"), &r); err != nil {
						t.Fatal(err)
					}
				}
				if r.Scenario != v.Name || r.Remedy != remedy || r.Seconds <= 0 {
					t.Errorf("/stats answers %+v", r)
				}
				if remedy == asFound {
					lookForSites(t, v, address)
				}
			})
		}
	}
}

// lookForSites waits until each function of the right answers was in some stack of a
// goroutine or of a CPU profile. Goroutines are rarely seen in a function that uses CPU
// but never waits.
func lookForSites(t *testing.T, v scenario, address string) {
	t.Helper()
	missing := slices.Clone(v.Sites)
	const usual = 30 // looks at goroutines that are enough for most services
	for looks := 1; len(missing) > 0; looks++ {
		var shown func(function string) bool
		if looks%usual > 0 {
			stacks := get(t, address+"/debug/pprof/goroutine?debug=2")
			stacks = bytes.ReplaceAll(stacks, []byte("[...]"), nil) // sites have no type arguments
			shown = func(function string) bool { return bytes.Contains(stacks, []byte(function+"(")) }
		} else {
			sampled := sampledFunctions(t, get(t, address+"/debug/pprof/profile?seconds=1"))
			shown = func(function string) bool {
				return slices.ContainsFunc(sampled, func(name string) bool { return strings.HasSuffix(name, function) })
			}
		}
		missing = slices.DeleteFunc(missing, func(s site) bool {
			// The test binary has the package's path instead of main.
			return shown(strings.TrimPrefix(s.Func, "main"))
		})
	}
}

// sampledFunctions returns the functions in a CPU profile, without type arguments.
func sampledFunctions(t *testing.T, cpu []byte) (names []string) {
	t.Helper()
	p, err := profile.ParseData(cpu)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Function {
		names = append(names, strings.ReplaceAll(f.Name, "[...]", ""))
	}
	return names
}

func TestMetrics(t *testing.T) {
	address := launch(t, "-scenario", "standby")
	var d struct {
		Go      string
		CPUs    int
		Time    time.Time
		Metrics map[string]json.RawMessage
	}
	if err := json.Unmarshal(get(t, address+"/debug/metrics"), &d); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(d.Go, "go1.") || d.CPUs < 1 || d.Time.IsZero() {
		t.Errorf("header %+v", d)
	}
	for _, name := range []string{"/sync/mutex/wait/total:seconds", "/sched/gomaxprocs:threads"} {
		var v float64
		if err := json.Unmarshal(d.Metrics[name], &v); err != nil {
			t.Errorf("%s is %s: %v", name, d.Metrics[name], err)
		}
	}
	var h struct {
		Counts  []uint64
		Buckets []any
	}
	if err := json.Unmarshal(d.Metrics["/sched/latencies:seconds"], &h); err != nil {
		t.Fatal(err)
	}
	if len(h.Counts) == 0 || len(h.Buckets) != len(h.Counts)+1 || h.Buckets[len(h.Counts)] != "+Inf" {
		t.Errorf("latencies have %d counts and %d bounds, the last %v", len(h.Counts), len(h.Buckets), h.Buckets[len(h.Buckets)-1])
	}
}

func TestProcs(t *testing.T) {
	address := launch(t, "-scenario", "standby", "-procs", "3")
	if body := string(get(t, address+"/debug/metrics")); !strings.Contains(body, `"/sched/gomaxprocs:threads":3`) {
		t.Error("GOMAXPROCS is not 3")
	}
}

// A bare service has no metrics, and an empty mutex profile.
func TestBare(t *testing.T) {
	for _, bare := range []bool{false, true} {
		address := launch(t, "-scenario", "ledger", fmt.Sprintf("-bare=%v", bare))
		response, err := http.Get(address + "/debug/metrics")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := response.StatusCode == http.StatusNotFound; got != bare {
			t.Errorf("-bare=%v: no metrics: %v", bare, got)
		}
		get(t, address+"/debug/pprof/trace?seconds=0.05") // long enough for some contention
		body := string(get(t, address+"/debug/pprof/mutex?debug=1"))
		if got := strings.Contains(body, "sampling period=0\n"); got != bare {
			t.Errorf("-bare=%v: no mutex profile: %v\n%s", bare, got, body)
		}
	}
}

// The block profile is empty unless it was enabled.
func TestBlock(t *testing.T) {
	for rate, want := range map[string]bool{"0": false, "1": true} {
		address := launch(t, "-scenario", "standby", "-block", rate)
		get(t, address+"/debug/pprof/trace?seconds=0.05") // long enough for some jobs
		body := string(get(t, address+"/debug/pprof/block?debug=1"))
		if got := strings.Contains(body, "(*standby).worker"); got != want {
			t.Errorf("-block %s: the profile has the workers: %v, want %v\n%s", rate, got, want, body)
		}
	}
}

// command runs the program in this process.
func command(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(context.Background(), args, &out, &err)
	return status, out.String(), err.String()
}

func TestWrongCommandLines(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `unknown scenario "" (want ` + all()[0].Name},
		{[]string{"-scenario", "nonesuch"}, `unknown scenario "nonesuch"`},
		{[]string{"-scenario", "ledger", "-remedy", "reboot"}, `unknown remedy "reboot" of ledger (want none, lower GOMAXPROCS, mutex`},
		{[]string{"-scenario", "ledger", "mutex"}, `unexpected argument "mutex"`},
		{[]string{"-scenario", "ledger", "-procs", "-1"}, "invalid -procs -1"},
		{[]string{"-scenario", "ledger", "-block", "-1"}, "-block -1"},
		{[]string{"-scenario", "ledger", "-for", "0s"}, "-for 0s"},
		{[]string{"-scenario", "ledger", "-addr", "nowhere"}, "missing port"},
		{[]string{"-prognosis"}, "flag provided but not defined"},
	} {
		status, stdout, stderr := command(c.args...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, stdout %q, stderr %q, want 2 and %q", c.args, status, stdout, stderr, c.want)
		}
	}
}

// A scenario ends by itself.
func TestFor(t *testing.T) {
	if status, stdout, stderr := command("-scenario", "standby", "-for", "1ms"); status != 0 || !strings.HasPrefix(stdout, "standby, remedy none: http://") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

func TestList(t *testing.T) {
	status, stdout, stderr := command("-list")
	var list []scenario
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || status != 0 || stderr != "" {
		t.Fatalf("status %d, %v, %s", status, err, stderr)
	}
	if len(list) != len(registered) {
		t.Errorf("%d listed, %d registered", len(list), len(registered))
	}
}
