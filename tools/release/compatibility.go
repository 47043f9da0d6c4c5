package main

import (
	"context"
	"fmt"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/semver"
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
		dir, err := w.user(ctx, m, last)
		if err != nil {
			return err
		}
		before, err := w.load(ctx, dir, m)
		if err != nil {
			return err
		}
		changes := compareAPI(before, w.api[m.path])
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
