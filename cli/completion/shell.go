package completion

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// installation is how each shell is taught for good. The lines are run by the tests as they stand.
const installation = `  mkdir -p ~/.local/share/bash-completion/completions && perksctl completion bash > ~/.local/share/bash-completion/completions/perksctl
  mkdir -p ~/.zfunc && perksctl completion zsh > ~/.zfunc/_perksctl && echo 'fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit' >> ~/.zshrc
  mkdir -p ~/.config/fish/completions && perksctl completion fish > ~/.config/fish/completions/perksctl.fish
  perksctl completion powershell >> $PROFILE`

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// generator returns what writes the script of a shell, with descriptions, or nil for a shell that is not known.
func generator(root *cobra.Command, shell string) func(io.Writer) error {
	switch shell {
	case "bash":
		return corrected(func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
			bashDropsTitles, "",
			bashQuotesCommas, bashQuotesCommas+bashKeepsCommas)
	case "zsh":
		return corrected(root.GenZshCompletion, zshDropsTitles, zshDropsTitles+zshKeepsTitles)
	case "fish":
		return corrected(func(w io.Writer) error { return root.GenFishCompletion(w, true) }, fishSplitsFlags, "string split --max 1 -- \\t $")
	case "powershell":
		return root.GenPowerShellCompletionWithDesc
	}
	return nil
}

// What is corrected in cobra's scripts.
const (
	// A value that was found by a word of its title does not begin as typed.
	bashDropsTitles = `        # Only consider the completions that match
        [[ $comp == "$cur"* ]] || continue

`
	// The comma between the fields of a list means nothing to bash, and quoted it stands in the way of the next field.
	bashQuotesCommas = `            COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]}")
`
	bashKeepsCommas = `            COMPREPLY[0]=${COMPREPLY[0]//\\,/,}
`
	zshDropsTitles = `        __perksctl_debug "Calling _describe"
`
	// Without menu, zsh would take the typed word away for the beginning that the values have in common.
	zshKeepsTitles = `        local typed="${(Q)lastParam}" value
        local found=0
        [ -n "$flagPrefix" ] && typed="${typed#*=}"
        for value in "${completions[@]}"; do
            [[ "${value}" == "${typed//:/\\:}"* ]] && found=1
        done
        if [ $found -eq 0 ] && [ ${#completions} -ne 0 ]; then
            noSpace+=" -U"
            compstate[insert]=menu
        fi
`
	// It takes a value such as --sort=title for a flag of its own.
	fishSplitsFlags = `string split --max 1 \t $`
)

// corrected replaces parts of a script, each followed by what comes in its place. A version of cobra that writes another
// script is noticed.
func corrected(generate func(io.Writer) error, parts ...string) func(io.Writer) error {
	return func(w io.Writer) error {
		var text strings.Builder
		if err := generate(&text); err != nil {
			return err
		}
		script := text.String()
		for pair := range slices.Chunk(parts, 2) {
			if strings.Count(script, pair[0]) != 1 {
				return fmt.Errorf("the script has changed: see what still has to be corrected in it, where it said %q", pair[0])
			}
			script = strings.Replace(script, pair[0], pair[1], 1)
		}
		_, err := io.WriteString(w, script)
		return err
	}
}
