package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestBinaries builds the planted tool from its tag.
func TestBinaries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := plant(t, nil)
	if err := buildRelease(ctx, r.dir, "v0.1.0", ""); err == nil || !strings.Contains(err.Error(), "no tag cmd/sluice/v0.1.0") {
		t.Errorf("without a tag: %v", err)
	}
	if err := release(ctx, r.dir, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	w, err := newWorkshop(ctx, r, "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := w.checkOut(ctx); err != nil {
		t.Fatal(err)
	}
	host := platform{runtime.GOOS, runtime.GOARCH}
	files, err := w.binaries(ctx, []platform{host}, w.cache)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := writeAll(to, files); err != nil {
		t.Fatal(err)
	}
	name := host.name("v0.1.0")
	sums := read(t, filepath.Join(to, "SHA256SUMS"))
	sum := sha256.Sum256([]byte(read(t, filepath.Join(to, name))))
	if !strings.Contains(sums, hex.EncodeToString(sum[:])+"  "+name+"\n") || strings.Count(sums, "\n") != 3 {
		t.Errorf("SHA256SUMS:\n%s", sums)
	}
	out, err := exec.Command(filepath.Join(to, name), "version").Output()
	if want := "sluice v0.1.0 (commit " + git(t, r, "rev-parse", "v0.1.0^{commit}")[:12] + "), 4\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	bill := read(t, filepath.Join(to, name+".cdx.json"))
	for _, want := range []string{`"pkg:golang/github.com/sluice-planted/mini/spill@v0.1.0"`, `"pkg:golang/std@`, hex.EncodeToString(sum[:]), git(t, r, "rev-parse", "v0.1.0^{commit}")} {
		if !strings.Contains(bill, want) {
			t.Errorf("the bill of materials lacks %s:\n%s", want, bill)
		}
	}
	if err := validate(t, bill); err != nil {
		t.Errorf("the bill of materials: %v\n%s", err, bill)
	}
	if err := validate(t, strings.Replace(bill, `"components"`, `"parts"`, 1)); err == nil {
		t.Error("a bill with an unknown member was accepted")
	}
	if text := read(t, filepath.Join(to, "LICENSES.txt")); strings.Count(text, "Anything is allowed.") != 3 || !strings.Contains(text, "Go Authors") {
		t.Errorf("LICENSES.txt:\n%s", text)
	}
	if err := buildRelease(ctx, r.dir, "v0.1.0", to); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a folder with files: %v", err)
	}
	plantDifferences(t, w, host)
}

// plantDifferences builds from other commits than the tagged one.
func plantDifferences(t *testing.T, w *workshop, host platform) {
	t.Helper()
	ctx := context.Background()
	binary, err := w.build(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.verify(binary, "another commit"); err == nil || !strings.Contains(err.Error(), "built from commit") {
		t.Errorf("of another commit: %v", err)
	}
	again := *w
	if again.clone, err = w.clone.cloneTo(ctx, filepath.Join(w.dir, "changed", "clone")); err != nil {
		t.Fatal(err)
	}
	main := strings.Replace(planted["cmd/sluice/main.go"], "measured", "assessed", 1)
	if err := again.clone.write("cmd/sluice/main.go", []byte(main)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.buildTwice(ctx, &again, host); err == nil || !strings.Contains(err.Error(), "two builds differ") {
		t.Errorf("of changed files: %v", err)
	}
	if binary, err = again.build(ctx, host); err != nil {
		t.Fatal(err)
	}
	if _, err := again.verify(binary, "any"); err == nil || !strings.Contains(err.Error(), "+dirty") {
		t.Errorf("with uncommitted changes: %v", err)
	}
}

func TestPlatformName(t *testing.T) {
	if got := (platform{"windows", "arm64"}).name("v0.1.0"); got != "sluice-v0.1.0-windows-arm64.exe" {
		t.Error(got)
	}
}

// TestBillRefuses: a module without a hash is not a published one.
func TestBillRefuses(t *testing.T) {
	info := &buildinfo.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "m", Version: "v0.1.0"}}
	info.Deps = []*debug.Module{{Path: "example.com/m", Version: "v1.0.0"}}
	if _, err := billOfMaterials("sluice", "m", info, [sha256.Size]byte{}); err == nil {
		t.Error("a module without a hash was accepted")
	}
	var n notices
	if err := n.add(t.TempDir(), info.Deps); err == nil {
		t.Error("a module without a license was accepted")
	}
}

// validate checks a bill of materials against CycloneDX's published schema, which comes
// with the module that writes it.
func validate(t *testing.T, bill string) error {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	for _, name := range []string{"bom-1.6.schema.json", "spdx.schema.json", "jsf-0.82.schemax.json"} {
		text := read(t, filepath.Join(strings.TrimSpace(string(dir)), "schema", name))
		schema, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("http://cyclonedx.org/schema/"+strings.Replace(name, "schemax", "schema", 1), schema); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(bill))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
