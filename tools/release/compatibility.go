package main

import (
	"context"
	"fmt"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"
)

// compatible compares the API of each library with its last version, prints the changes,
// and returns an error if the version does not allow them.
func (w *workshop) compatible(ctx context.Context) error {
	last, err := w.source.lastVersion(ctx)
	if err != nil {
		return err
	}
	if last == "" {
		fmt.Println("no earlier version to compare with")
		return nil
	}
	earlier := slices.DeleteFunc(slices.Clone(w.modules), func(m module) bool { return !w.clone.has(ctx, "refs/tags/"+m.tag(last)) })
	if err := w.downloadFromTags(ctx, earlier, last); err != nil {
		return err
	}
	for _, m := range earlier {
		if slices.Contains(apart, m.dir) {
			continue
		}
		before, err := w.api(ctx, m, last)
		if err != nil {
			return err
		}
		now, err := w.api(ctx, m, w.version)
		if err != nil {
			return err
		}
		changes := compareAPI(before, now)
		for _, c := range changes {
			fmt.Printf("since %s: %s\n", last, c)
		}
		if err := allowed(last, w.version, changes); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

// A change is one of a package's API.
type change struct {
	path string
	apidiff.Change
}

func (c change) String() string {
	if c.Compatible {
		return c.path + ": " + c.Message
	}
	return c.path + ": incompatible: " + c.Message
}

// allowed returns an error if the new version may not have such changes after the last
// one.
func allowed(last, version string, changes []change) error {
	raised := semver.MajorMinor(last) != semver.MajorMinor(version)
	for _, c := range changes {
		switch {
		case !c.Compatible && semver.Major(last) == semver.Major(version) && semver.Major(version) != "v0":
			return fmt.Errorf("%s needs a new major version after %s (%v)", version, last, c)
		case !raised && (!c.Compatible || semver.Major(version) != "v0"):
			return fmt.Errorf("%s must raise the minor version of %s (%v)", version, last, c)
		}
	}
	return nil
}

// compareAPI returns the changes between the packages of two versions, by path.
func compareAPI(before, now map[string]*types.Package) (changes []change) {
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if now[path] == nil {
			changes = append(changes, change{path, apidiff.Change{Message: "removed"}})
			continue
		}
		for _, c := range apidiff.Changes(before[path], now[path]).Changes {
			changes = append(changes, change{path, c})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if before[path] == nil {
			changes = append(changes, change{path, apidiff.Change{Message: "added", Compatible: true}})
		}
	}
	return changes
}

// api returns the packages of a version of a module that others can import.
func (w *workshop) api(ctx context.Context, m module, version string) (map[string]*types.Package, error) {
	dir, err := w.program(strings.ReplaceAll(path.Join("api", version, m.dir), "/", "-"), m.goes, "")
	if err != nil {
		return nil, err
	}
	if _, err := w.goCommand(ctx, dir, w.proxies(), "get", m.at(version)); err != nil {
		return nil, err
	}
	paths, err := w.packages(ctx, dir, m)
	if err != nil {
		return nil, err
	}
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Env: append(os.Environ(), w.settings(w.proxies()...)...),
		Mode: packages.LoadTypes | packages.NeedExportFile,
	}, paths...)
	if err != nil {
		return nil, err
	}
	exported := map[string]*types.Package{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		exported[p.PkgPath] = p.Types
	}
	return exported, nil
}
