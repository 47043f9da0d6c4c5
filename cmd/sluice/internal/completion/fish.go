package completion

import (
	"fmt"
	"strings"
)

func fish(b *strings.Builder, p *program) {
	fmt.Fprintf(b, `# fish completion for %[1]s. To load it: %[1]s completion fish | source

function __%[1]s_command
	set -l words (commandline -opc)
	test (count $words) -ge 2; and test $words[2] = $argv[1]
end

complete -c %[1]s -f
`, p.name)
	for i := range p.commands {
		c := &p.commands[i]
		fmt.Fprintf(b, "complete -c %s -n 'test (count (commandline -opc)) -eq 1' -a %s -d %s\n", p.name, c.name, quote(c.help))
	}
	for i := range p.commands {
		c := &p.commands[i]
		line := fmt.Sprintf("complete -c %s -n '__%s_command %s'", p.name, p.name, c.name)
		fmt.Fprintf(b, "\n")
		for _, f := range c.flags {
			short := ""
			if f.short != "" {
				short = " -s " + f.short
			}
			value := ""
			if f.takesValue {
				value = either(f.values.Files, " -r", " -x") + fishValues(f.values)
			}
			fmt.Fprintf(b, "%s%s -o %s%s -d %s\n", line, short, f.name, value, quote(f.help))
		}
		if offered := fishValues(c.arguments); offered != "" {
			fmt.Fprintf(b, "%s%s\n", line, offered)
		}
	}
}

// fishValues returns the options that offer the values.
func fishValues(v Values) string {
	switch {
	case len(v.Words) > 0:
		return " -a " + quote(strings.Join(v.Words, " "))
	case v.Files:
		return " -F"
	case v.Directories:
		return " -a '(__fish_complete_directories)'"
	}
	return ""
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}
