package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
)

// setting is one value of the configuration file. None is a secret: those are elsewhere.
type setting struct {
	key     string
	value   any
	choices []string                                   // of its values; nil if any text may be one
	set     func(c *session.Config, text string) error // nil if only a login sets it; the error is a UsageError
}

// settingRecord is a setting as commands write it.
type settingRecord struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

const (
	keysPrefix     = "tui.keys."
	profilesPrefix = "profiles."
)

// settings returns every setting that a configuration can have, except keys of actions that it does not change.
func settings(s *session.Session, c session.Config) []setting {
	all := []setting{
		{"current", c.CurrentName(), c.Names(), (*session.Config).Use},
		{"tui.theme", c.TUI.Theme, api.Texts(theme.Names()), func(c *session.Config, name string) error {
			if _, err := theme.Parse(name); err != nil {
				return command.Usagef("tui.theme: %s.", err)
			}
			c.TUI.Theme = name
			return nil
		}},
		toggle("tui.mouse", c.TUI.Mouse == nil || *c.TUI.Mouse, func(c *session.Config, on bool) { c.TUI.Mouse = &on }),
		{"tui.notify", cmp.Or(c.TUI.Notify, string(tui.NotifyOff)), api.Texts(tui.NotifyChoices()),
			func(c *session.Config, how string) error {
				if _, err := tui.ParseNotify(how); err != nil {
					return command.Usagef("tui.notify: %s.", err)
				}
				c.TUI.Notify = how
				return nil
			}},
		toggle("tui.accessible", c.TUI.Accessible, func(c *session.Config, on bool) { c.TUI.Accessible = on }),
	}
	for _, action := range slices.Sorted(maps.Keys(c.TUI.Keys)) {
		all = append(all, keySetting(c, action))
	}
	for _, name := range c.Names() {
		p := c.Profiles[name]
		change := func(key string, on bool, set func(*session.Profile, bool)) setting {
			return toggle(profilesPrefix+name+"."+key, on, func(c *session.Config, on bool) {
				_ = c.Change(name, func(p *session.Profile) { set(p, on) }) // there is one
			})
		}
		all = append(all,
			setting{key: profilesPrefix + name + ".api-url", value: p.APIURL},
			setting{key: profilesPrefix + name + ".client-id", value: p.ClientID},
			setting{key: profilesPrefix + name + ".insecure-http", value: p.InsecureHTTP},
			setting{key: profilesPrefix + name + ".ca-cert", value: p.CACert,
				set: func(c *session.Config, path string) error {
					_, err := s.Roots(path)
					return cmp.Or(err, c.Change(name, func(p *session.Profile) { p.CACert = path }))
				}},
			change("sandbox", p.Sandbox, func(p *session.Profile, on bool) { p.Sandbox = on }),
			change("read-only", p.ReadOnly, func(p *session.Profile, on bool) { p.ReadOnly = on }),
			change("protected", p.Protected, func(p *session.Profile, on bool) { p.Protected = on }))
	}
	return all
}

func toggle(key string, on bool, set func(*session.Config, bool)) setting {
	return setting{key, on, []string{"true", "false"}, func(c *session.Config, text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return command.Usagef("%s must be true or false, not %q.", key, text)
		}
		set(c, on)
		return nil
	}}
}

// keySetting is the keys of an action. Without any, it has its own again.
func keySetting(c session.Config, action string) setting {
	return setting{keysPrefix + action, strings.Join(c.TUI.Keys[action].Keys, ","), nil,
		func(c *session.Config, text string) error {
			if c.TUI.Keys == nil {
				c.TUI.Keys = map[string]session.KeySettings{}
			}
			takes := c.TUI.Keys[action].Override
			if delete(c.TUI.Keys, action); text != "" {
				c.TUI.Keys[action] = session.KeySettings{Keys: strings.Split(text, ","), Override: takes}
			}
			_, _, problem, wrong := registry(c.TUI)
			if len(wrong) > 0 {
				problem = wrong[0].problem
			}
			if problem != "" {
				return command.Usagef("%s%s: %s See perksctl tui --list-keys.", keysPrefix, action, problem)
			}
			return nil
		}}
}

// findSetting finds a setting by its key, also the keys of an action that has its own.
func findSetting(s *session.Session, c session.Config, key string) (setting, error) {
	var keys []string
	for _, known := range settings(s, c) {
		if known.key == key {
			return known, nil
		}
		keys = append(keys, known.key)
	}
	for _, action := range actions.Default().Actions() {
		if known := keySetting(c, string(action.ID)); known.key == key {
			known.value = strings.Join(replaced(action.Keys, " ", spaceKey), ",")
			return known, nil
		}
	}
	return setting{}, command.Usagef("There is no setting %q.%s See perksctl config list.", key,
		command.DidYouMean(key, keys))
}

func newConfig(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:   "config",
		Short: "Read and change the settings in config.yaml",
		Long: "Read and change the settings in config.yaml: the current profile, the terminal UI, and each profile.\n" +
			"Secrets are stored elsewhere. tui.keys.ACTION holds the keys of an action, separated by commas;\n" +
			"perksctl tui --list-keys lists the actions. Only a login sets a profile's address and client, and\n" +
			"whether it may use http.",
		Example: "  perksctl config list\n  perksctl config set tui.theme light",
	}, newConfigList(s), newConfigGet(s), newConfigSet(s), newConfigPath(s))
}

var settingView = output.View{ID: "key"}

func newConfigList(s *session.Session) *cobra.Command {
	return session.Command(s, settingView, cobra.Command{
		Use:     "list",
		Short:   "List the settings with their values",
		Example: "  perksctl config list\n  perksctl config list --output json",
		Args:    command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[settingRecord]) error {
		c, err := s.LoadConfig()
		if err != nil {
			return err
		}
		var records []settingRecord
		for _, one := range settings(s, c) {
			records = append(records, settingRecord{one.key, one.value})
		}
		return printer.List(cmd.Context(), output.Each(records))
	})
}

func newConfigGet(s *session.Session) *cobra.Command {
	return session.Command(s, settingView, cobra.Command{
		Use:               "get KEY",
		Short:             "Print the value of a setting",
		Example:           "  perksctl config get tui.theme\n  perksctl config get tui.keys.record.redeem",
		Args:              command.Exactly("KEY"),
		ValidArgsFunction: completeSettings(s, false),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[settingRecord]) error {
		c, err := s.LoadConfig()
		if err != nil {
			return err
		}
		one, err := findSetting(s, c, args[0])
		if err != nil {
			return err
		}
		return printer.Text(cmd.Context(), fmt.Sprintln(one.value), settingRecord{one.key, one.value})
	})
}

func newConfigSet(s *session.Session) *cobra.Command {
	return session.Command(s, settingView, cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Change a setting",
		Long:  "Change a setting. An empty value removes a theme, a certificate file or the keys of an action.",
		Example: "  perksctl config set tui.theme light\n  perksctl config set tui.keys.record.redeem r,f5\n" +
			"  perksctl config set profiles.staging.sandbox true",
		Args:              command.Exactly("KEY", "VALUE"),
		ValidArgsFunction: completeSettings(s, true),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[settingRecord]) error {
		key, text := args[0], args[1]
		c, err := s.UpdateConfig(cmd.Context(), func(c *session.Config) error {
			one, err := findSetting(s, *c, key)
			if err == nil && one.set == nil {
				name := strings.TrimPrefix(key[:strings.LastIndex(key, ".")], profilesPrefix)
				return command.Usagef("%s is set by a login, because the secret belongs to it: "+
					"perksctl auth login --profile %s", key, name)
			}
			if err == nil {
				err = one.set(c, text)
			}
			return err
		})
		if err != nil {
			return err
		}
		one, err := findSetting(s, c, key)
		if err != nil {
			return err
		}
		s.Streams.Note("%s is now %q.", key, fmt.Sprint(one.value))
		return printer.Done(cmd.Context(), settingRecord{one.key, one.value})
	})
}

func newConfigPath(s *session.Session) *cobra.Command {
	type location struct {
		Path string `json:"path"`
	}
	return session.Command(s, output.View{ID: "path"}, cobra.Command{
		Use:     "path",
		Short:   "Print the path of config.yaml",
		Example: "  perksctl config path\n  cat \"$(perksctl config path)\"",
		Args:    command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[location]) error {
		file, err := s.Config()
		if err != nil {
			return err
		}
		return printer.Text(cmd.Context(), string(file)+"\n", location{string(file)})
	})
}

// completeSettings completes a key, and then its values.
func completeSettings(s *session.Session, values bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
		c, err := s.LoadConfig()
		switch {
		case err != nil:
		case len(args) == 0:
			for _, one := range settings(s, c) {
				if !values || one.set != nil {
					found = append(found, one.key)
				}
			}
			for _, action := range actions.Default().Actions() {
				if key := keysPrefix + string(action.ID); strings.HasPrefix(typed, keysPrefix) &&
					!slices.Contains(found, key) {
					found = append(found, cobra.CompletionWithDesc(key, action.Name))
				}
			}
		case len(args) == 1 && values:
			one, _ := findSetting(s, c, args[0])
			found = one.choices
		}
		return completion.Beginning(found, typed), cobra.ShellCompDirectiveNoFileComp
	}
}
