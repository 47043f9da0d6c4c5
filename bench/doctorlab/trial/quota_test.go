package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A command joins the group before it becomes the program.
func TestQuotaCommand(t *testing.T) {
	limit := &quota{tasks: filepath.Join(t.TempDir(), "group.procs")}
	program, args := limit.command("/bin/sh", "-c", `echo $$ "$1"`, "sh", "a b")
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tasks, err := os.ReadFile(limit.tasks)
	if err != nil {
		t.Fatal(err)
	}
	pid, rest, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if _, err := strconv.Atoi(pid); err != nil || strings.TrimSpace(string(tasks)) != pid || rest != "a b" {
		t.Errorf("process %q printed %q, and %q joined the group", pid, rest, tasks)
	}
	var none *quota
	if program, args := none.command("a", "b"); program != "a" || !slices.Equal(args, []string{"b"}) {
		t.Errorf("without a quota: %s %q", program, args)
	}
}

// A quota is a group with a limit, or an error that names what it takes.
func TestNewQuota(t *testing.T) {
	if limit, remove, err := newQuota(unlimited); err == nil {
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(limit.tasks), "cpu.shares")); err == nil && strings.TrimSpace(string(text)) != "262144" {
			t.Errorf("the weight is %s", text)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	limit, remove, err := newQuota(quotaCores)
	if err != nil {
		if !strings.Contains(err.Error(), "a CPU quota requires") {
			t.Error(err)
		}
		return
	}
	dir := filepath.Dir(limit.tasks)
	set := ""
	for _, name := range []string{"cpu.max", "cpu.cfs_quota_us"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			set += string(text)
		}
	}
	if !strings.HasPrefix(set, "30000") {
		t.Errorf("the limit is %q", set)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the group remains")
	}
}

// On a quota, only remedies that pay there are right, and the limit itself is a
// right answer.
func TestTruthOnQuota(t *testing.T) {
	limit := `{"verdict": "no", "findings": [{"kind": "CPU limit", "channels": false, "remedies": []}]}`
	on := func(truth *Truth, rate float64, gains ...Gain) *Truth {
		truth.Rate, truth.Quota = 1000, &Measured{Rate: rate, Gains: gains}
		return truth.onQuota()
	}
	slow := func() *Truth {
		truth := pains()
		truth.Scenario.Channels, truth.Scenario.Instead = false, "slow stage"
		return truth
	}
	for name, c := range map[string]struct {
		truth     *Truth
		diagnosis string
		want      Marks
	}{
		"batch still pays":      {on(pains(), 200, Gain{Remedy: "batch", Median: 2.5}, Gain{Remedy: "shard", Median: 1}), batchIt, Marks{Right, Unasked, Right, Right, Right}},
		"and is not suggested":  {on(pains(), 200, Gain{Remedy: "batch", Median: 2.5}, Gain{Remedy: "shard", Median: 1}), limit, Marks{Wrong, Unasked, Wrong, Wrong, Unasked}},
		"nothing pays":          {on(pains(), 200, Gain{Remedy: "batch", Median: 1.1}, Gain{Remedy: "shard", Median: 1}), limit, Marks{Right, Unasked, Unasked, Right, Unasked}},
		"nothing pays, batches": {on(pains(), 200, Gain{Remedy: "batch", Median: 1.1}, Gain{Remedy: "shard", Median: 1}), batchIt, Marks{Right, Unasked, Unasked, Wrong, Wrong}},
		"idle cores are gone":   {on(slow(), 200, Gain{Remedy: "batch", Median: 1.1}, Gain{Remedy: "shard", Median: 1}), limit, Marks{Right, Right, Unasked, Right, Unasked}},
		"the quota is enough":   {on(slow(), 900, Gain{Remedy: "batch", Median: 1.1}, Gain{Remedy: "shard", Median: 1}), limit, Marks{Right, Wrong, Wrong, Wrong, Unasked}},
		"too little to do":      {on(slow(), 200, Gain{Remedy: "batch", Median: 1.1}, Gain{Remedy: "shard", Median: 1}), `{"verdict": "idle"}`, Marks{Right, Wrong, Unasked, Right, Unasked}},
	} {
		if got := judge(c.truth, diagnosed(t, c.diagnosis)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
