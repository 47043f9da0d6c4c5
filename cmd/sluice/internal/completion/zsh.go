package completion

import (
	"fmt"
	"strings"
)

func zsh(b *strings.Builder, p *program) {
	fmt.Fprintf(b, `#compdef %[1]s
# zsh completion for %[1]s. To load it: source <(%[1]s completion zsh)
# or save it as _%[1]s in a folder of fpath.
compdef _%[1]s %[1]s

_%[1]s() {
	local -a commands
	commands=(
`, p.name)
	for _, c := range p.commands {
		fmt.Fprintf(b, "\t\t%s\n", quote(c.name+":"+c.help))
	}
	b.WriteString("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n")
	b.WriteString("\tshift words\n\t(( CURRENT-- ))\n\tcase $words[1] in\n")
	for i := range p.commands {
		c := &p.commands[i]
		fmt.Fprintf(b, "\t%s)\n\t\t_arguments", c.name)
		for _, f := range c.flags {
			b.WriteString(" \\\n\t\t\t" + zshFlag(&f))
		}
		if action := zshValues(c.arguments); action != "" {
			b.WriteString(" \\\n\t\t\t" + quote("*:argument:"+action))
		}
		b.WriteString("\n\t\t;;\n")
	}
	fmt.Fprintf(b, "\tesac\n}\n\nif [[ $funcstack[1] == _%[1]s ]]; then\n\t_%[1]s \"$@\"\nfi\n", p.name)
}

// inZsh escapes what ends a description within an argument of _arguments.
var inZsh = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)

func zshFlag(f *flag) string {
	if !f.takesValue {
		return quote("-" + f.name + "[" + inZsh.Replace(f.help) + "]")
	}
	about := "[" + inZsh.Replace(f.help) + "]:" + inZsh.Replace(f.placeholder) + ":" + zshValues(f.values)
	if f.short == "" {
		return quote("-" + f.name + "=" + about)
	}
	return quote(fmt.Sprintf("(-%s -%s)", f.short, f.name)) + "{-" + f.short + ",-" + f.name + "=}" + quote(about)
}

// zshValues returns the action that offers the values.
func zshValues(v Values) string {
	switch {
	case len(v.Words) > 0:
		return "(" + strings.Join(v.Words, " ") + ")"
	case v.Files:
		return "_files"
	case v.Directories:
		return "_directories"
	}
	return ""
}

// quote quotes text for zsh and fish.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
