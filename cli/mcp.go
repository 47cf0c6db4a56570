package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

const (
	mcpProgram       = "perksctl-mcp" // a program of its own, so that no other command waits for its libraries
	allowChangesFlag = "allow-changes"
	allowChangesHelp = "let the assistant prepare and confirm changes"
)

func newMCP(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an assistant, by the Model Context Protocol",
		Long: "Serve an assistant on standard input and output, by the Model Context Protocol, with the rights of the\n" +
			"profile. An assistant starts this command; mcp config prints the settings that it needs.\n\n" +
			"The assistant can only read, unless --" + allowChangesFlag + " lets it redeem, decide and update, each in two\n" +
			"steps: it prepares a draft, which says what would happen, and confirms it within 10 minutes. A read-only\n" +
			"profile refuses that, and a protected one needs --confirm-profile.",
		Example: "  perksctl mcp\n  perksctl mcp --profile work --sandbox --allow-changes\n" +
			"  perksctl mcp config --client cursor",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := findMCP()
			if err != nil {
				return err
			}
			return become(path, append([]string{mcpProgram}, flagsOf(cmd)...), environment(s))
		},
	}
	cmd.Flags().Bool(allowChangesFlag, false, allowChangesHelp)
	cmd.AddCommand(newMCPConfig(s))
	return cmd
}

// findMCP finds the program beside this one, or in PATH.
func findMCP() (string, error) {
	name, dir := mcpProgram, "the directory of perksctl"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := executable(); err == nil {
		dir = filepath.Dir(self)
		beside := filepath.Join(dir, name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", &command.Failure{Exit: command.ExitFailed, Code: "mcp_missing", Message: fmt.Sprintf(
			"perksctl mcp runs the program %s, which is neither in %s nor in PATH. It is in the same package or archive as "+
				"perksctl.", name, dir)}
	}
	return found, nil
}

// executable is the path of this program, without links.
func executable() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(self)
}

// flagsOf returns the flags that were given, those for all commands too, except lists, which only choose output.
func flagsOf(cmd *cobra.Command) (words []string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if _, isList := flag.Value.(pflag.SliceValue); !isList {
			words = append(words, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	return words
}

// environment is that of this process with the secrets, which session.Environment has taken out.
func environment(s *session.Session) []string {
	all := os.Environ()
	for _, name := range []string{session.EnvClientSecret, session.EnvToken} {
		if secret := s.Env(name); secret != "" {
			all = append(all, name+"="+secret)
		}
	}
	return all
}

// mcpServer is how an assistant starts perksctl.
type mcpServer struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

// mcpClients are the assistants whose settings are known: the member that holds the servers, and where the settings go.
var mcpClients = []struct{ name, member, file string }{
	{"claude", "mcpServers", "claude_desktop_config.json of Claude Desktop, or .mcp.json of a project in Claude Code"},
	{"cursor", "mcpServers", "~/.cursor/mcp.json, or .cursor/mcp.json of a project"},
	{"gemini", "mcpServers", "~/.gemini/settings.json"},
	{"vscode", "servers", ".vscode/mcp.json of a project, or mcp.json of the user"},
}

// mcpVariables are the variables that an assistant would not hand on by itself. None is a secret.
var mcpVariables = []string{session.EnvConfigDir, session.EnvAPIURL, session.EnvClientID, session.EnvActor,
	session.EnvKeyring}

func newMCPConfig(s *session.Session) *cobra.Command {
	var names []string
	for _, known := range mcpClients {
		names = append(names, known.name)
	}
	var name string
	var allowChanges bool
	cmd := session.Command(s, output.View{}, cobra.Command{
		Use:   "config",
		Short: "Print the settings that an assistant needs",
		Long: "Print the settings with which an assistant starts perksctl mcp for the profile in use. They hold no\n" +
			"secret. With --" + allowChangesFlag + ", a protected profile has to be confirmed.",
		Example: "  perksctl mcp config\n  perksctl mcp config --client vscode > .vscode/mcp.json\n" +
			"  perksctl mcp config --profile work --allow-changes",
		Args: command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[map[string]map[string]mcpServer]) error {
		at := slices.Index(names, name)
		if at < 0 {
			return command.Usagef("--client must be one of %s, not %q.%s Most others take the settings of %s.",
				strings.Join(names, ", "), name, command.DidYouMean(name, names), names[0])
		}
		connection, err := s.Connection()
		if err == nil && allowChanges {
			err = s.MayChange(cmd.Context())
		}
		if err != nil {
			return err
		}
		server, err := mcpSettings(s, connection, allowChanges)
		if err != nil {
			return err
		}
		if mcpClients[at].member == "servers" {
			server.Type = "stdio"
		}
		settings := map[string]map[string]mcpServer{mcpClients[at].member: {"perks": server}}
		text, err := json.MarshalIndent(settings, "", "  ")
		if err == nil {
			err = printer.Text(cmd.Context(), string(text)+"\n", settings)
		}
		if err != nil {
			return err
		}
		s.Streams.Note("These settings belong in %s.", mcpClients[at].file)
		if connection.FromEnvironment() {
			s.Streams.Warn("The secret comes from the environment, and the settings do not hold it. Start the assistant " +
				"with the same environment, or log in: perksctl auth login")
		}
		return nil
	})
	cmd.Flags().StringVar(&name, "client", names[0], "the `assistant`: "+strings.Join(names, ", "))
	completion.Flag(cmd, "client", completion.Fixed(names...))
	cmd.Flags().BoolVar(&allowChanges, allowChangesFlag, false, allowChangesHelp)
	return cmd
}

// mcpSettings names the profile in use, which stays that of the assistant when another becomes the current one.
func mcpSettings(s *session.Session, connection session.Connection, allowChanges bool) (mcpServer, error) {
	path, err := executable()
	server := mcpServer{Command: path, Args: append([]string{"mcp"}, s.CommandLine()[1:]...)}
	if s.Flags.Profile == "" && connection.ProfileName != "" {
		server.Args = append(server.Args, "--profile", connection.ProfileName)
	}
	if allowChanges {
		server.Args = append(server.Args, "--"+allowChangesFlag)
		if connection.Protected && !connection.Sandbox {
			server.Args = append(server.Args, "--confirm-profile", connection.ProfileName)
		}
	}
	for _, variable := range mcpVariables {
		if value := s.Env(variable); value != "" {
			if server.Env == nil {
				server.Env = map[string]string{}
			}
			server.Env[variable] = value
		}
	}
	return server, err
}
