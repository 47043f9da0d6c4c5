package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var verdictWords = strings.Fields("channel lockstep stage lock limit polling shedding stuck outside cores memory load idle")

var remedyWords = []string{batch, buffer, moreReceivers, split, balance, removeHop, mutex, raiseLimit, stopPolling, release, reuse, wakeOne, cheaper, moreCores, moreLoad}

// TestTable checks that each row can be scored.
func TestTable(t *testing.T) {
	declared := declarations(t)
	names := map[string]bool{}
	for _, d := range all() {
		if names[d.Name] {
			t.Errorf("two services are named %s", d.Name)
		}
		names[d.Name] = true
		for _, v := range d.Verdicts {
			if !slices.Contains(verdictWords, v) {
				t.Errorf("%s: unknown verdict %q", d.Name, v)
			}
		}
		for _, r := range slices.Concat(d.Right, d.Accept, d.Built, d.Harmful) {
			if !slices.Contains(remedyWords, r) {
				t.Errorf("%s: unknown remedy %q", d.Name, r)
			}
		}
		for _, p := range d.Places {
			if name := strings.TrimSuffix(strings.TrimPrefix(p, "main."), ".*"); !declared[name] {
				t.Errorf("%s: there is no function %s", d.Name, name)
			}
		}
		for _, r := range d.Right {
			if slices.Contains(d.Harmful, r) {
				t.Errorf("%s: %s is right and harmful", d.Name, r)
			}
		}
	}
}

// TestHalves checks that each shape has idioms in both halves.
func TestHalves(t *testing.T) {
	for _, k := range shapesOf {
		idioms := map[half][]string{}
		for _, r := range k.rows {
			idioms[r.half] = append(idioms[r.half], r.idiom)
		}
		for _, idiom := range idioms[tuning] {
			if slices.Contains(idioms[held], idiom) {
				t.Errorf("%s: %q is in both halves", k.name, idiom)
			}
		}
		if len(idioms[tuning]) == 0 || len(idioms[held]) == 0 {
			t.Errorf("%s has idioms %v", k.name, idioms)
		}
	}
}

func TestFind(t *testing.T) {
	if r, err := find("sensors", batch); err != nil || r.Name != "sensors" {
		t.Errorf("find returned %q and %v", r.Name, err)
	}
	for _, c := range []struct{ name, remedy string }{{"nothing", ""}, {"sensors", mutex}} {
		if _, err := find(c.name, c.remedy); err == nil || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("find(%q, %q) returned %v", c.name, c.remedy, err)
		}
	}
	var list bytes.Buffer
	var described []description
	if err := run(t.Context(), []string{"-list"}, &list); err != nil || json.Unmarshal(list.Bytes(), &described) != nil || len(described) != len(all()) {
		t.Errorf("-list printed %d services: %s", len(described), list.String())
	}
}

// declarations returns the functions of the package, by the names that stacks have.
func declarations(t *testing.T) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				declared[receiver(f)+f.Name.Name] = true
			}
		}
	}
	return declared
}

// receiver returns the part of a method's name before its own.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of, format := f.Recv.List[0].Type, "%."
	if star, ok := of.(*ast.StarExpr); ok {
		of, format = star.X, "(*%)."
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	return strings.Replace(format, "%", of.(*ast.Ident).Name, 1)
}
