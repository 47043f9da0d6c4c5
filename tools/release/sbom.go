package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials returns the modules and the toolchain in a binary, in CycloneDX's JSON
// format. It has no time and no random serial number: the same binary has the same bill.
func billOfMaterials(name, root string, info *buildinfo.BuildInfo, sum [sha256.Size]byte) ([]byte, error) {
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	main := component(&info.Main)
	main.Type = cyclonedx.ComponentTypeApplication
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	main.Properties = &[]cyclonedx.Property{{Name: "file", Value: name}}
	for _, key := range []string{"GOOS", "GOARCH", "CGO_ENABLED", "vcs.revision", "vcs.time"} {
		*main.Properties = append(*main.Properties, cyclonedx.Property{Name: key, Value: settings[key]})
	}
	main.ExternalReferences = &[]cyclonedx.ExternalReference{{Type: cyclonedx.ERTypeVCS, URL: "https://" + root}}

	toolchain := strings.TrimPrefix(info.GoVersion, "go")
	components := []cyclonedx.Component{{
		BOMRef: "pkg:golang/std@" + toolchain, PackageURL: "pkg:golang/std@" + toolchain,
		Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: toolchain,
		Description: "the standard library of Go",
	}}
	for _, dep := range info.Deps {
		c := component(dep)
		if err := hashed(&c, dep.Sum); err != nil {
			return nil, err
		}
		components = append(components, c)
	}
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{Component: &main}
	bill.Components = &components
	var text bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	err := encoder.EncodeVersion(bill, cyclonedx.SpecVersion1_6)
	return text.Bytes(), err
}

// component describes a module by its package URL.
func component(m *debug.Module) cyclonedx.Component {
	url := fmt.Sprintf("pkg:golang/%s@%s", strings.ToLower(m.Path), strings.ReplaceAll(m.Version, "+", "%2B"))
	return cyclonedx.Component{BOMRef: url, PackageURL: url, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version}
}

// hashed adds a module's hash from go.sum. It is a hash over a list of files, and not of
// one file, so it is a property and not a hash of the component.
func hashed(c *cyclonedx.Component, sum string) error {
	encoded, found := strings.CutPrefix(sum, "h1:")
	if _, err := base64.StdEncoding.DecodeString(encoded); !found || err != nil {
		return fmt.Errorf("%s has the hash %q (want h1: and base64)", c.Name, sum)
	}
	c.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: sum}}
	return nil
}
