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

// A quota is a group with a limit, or an error that says what it takes.
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
