// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret run` and its sisters as a user types them. What a recording process would tell is written by shell commands.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <algorithm>
#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

std::vector<std::string> Ferret(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {DataFile("tools/ferret")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Outcome RunFerret(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {},
                  const std::string& input = "") {
  return RunProgram(Ferret(arguments), environment, input);
}

Outcome RunShell(const std::string& script, const std::vector<std::string>& environment = {}) {
  return RunFerret({"run", "sh", "-c", script}, environment);
}

TEST(FerretRun, PassesTheExitStatusThrough) {
  EXPECT_EQ(RunShell("exit 0").exit_status, 0);
  EXPECT_EQ(RunShell("exit 1").exit_status, 1);
  EXPECT_EQ(RunShell("exit 255").exit_status, 255);
}

TEST(FerretRun, EndsByTheSignalThatEndedTheCommand) {
  for (int signal : {SIGTERM, SIGKILL, SIGSEGV, SIGINT, SIGHUP, SIGABRT}) {
    const Outcome outcome = RunShell("kill -" + std::to_string(signal) + " $$");
    EXPECT_EQ(outcome.signal, signal);
  }
}

TEST(FerretRun, StreamsBelongToTheCommand) {
  const Outcome outcome = RunFerret({"run", "sh", "-c", "cat; echo complaint >&2"}, {}, "in and out");
  EXPECT_EQ(outcome.out, "in and out");
  EXPECT_EQ(outcome.err, "complaint\nferret: nothing was recorded\n");
}

TEST(FerretRun, ArgumentsOfTheCommandAreNotItsOwn) {
  EXPECT_EQ(RunFerret({"run", "echo", "--export", "--", "-x", ""}).out, "--export -- -x \n");
  EXPECT_EQ(RunFerret({"run", "--no-torch", "--", "echo", "--no-torch"}).out, "--no-torch\n");
}

TEST(FerretRun, CommandThatCannotBeStartedIsOneLineAnd127Or126) {
  const Outcome missing = RunFerret({"run", "/no/such/command"});
  EXPECT_EQ(missing.exit_status, 127);
  EXPECT_EQ(missing.err, "ferret: cannot run /no/such/command: No such file or directory\n");
  EXPECT_EQ(RunFerret({"run", "no-such-command-anywhere"}).exit_status, 127);
  EXPECT_EQ(RunFerret({"run", "/"}).exit_status, 126);
}

TEST(FerretRun, ExportComesFromTheOptionThenTheEnvironmentThenTheDefault) {
  const std::string show = "echo $FERRET_EXPORT";
  EXPECT_EQ(RunShell(show).out, "chrome_trace:trace-%p.json.gz\n");
  EXPECT_EQ(RunShell(show, {"FERRET_EXPORT="}).out, "chrome_trace:trace-%p.json.gz\n");
  EXPECT_EQ(RunShell(show, {"FERRET_EXPORT=memory?max_events=7"}).out, "memory?max_events=7\n");
  EXPECT_EQ(RunFerret({"run", "--export", "memory", "sh", "-c", show}, {"FERRET_EXPORT=chrome_trace"}).out, "memory\n");
  EXPECT_EQ(RunFerret({"run", "--export=memory", "sh", "-c", show}).out, "memory\n");
}

TEST(FerretRun, ExportersThatCannotBeMadeEndTheRunBeforeTheCommand) {
  for (const char* bad : {"chrme_trace:x.json", "chrome_trace?levle=3", "chrome_trace:%q"}) {
    const Outcome outcome = RunFerret({"run", "--export", bad, "echo", "ran"});
    EXPECT_EQ(outcome.exit_status, 125) << bad;
    EXPECT_EQ(outcome.out, "") << bad;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  // The command knows the plug-in, `ferret run` does not load it.
  EXPECT_EQ(RunFerret({"run", "--export", "mine", "true"}, {"FERRET_EXPORTERS=/mine.so"}).exit_status, 0);
}

TEST(FerretRun, EachRunHasAnIdOfItsOwn) {
  const std::string first = RunShell("echo $FERRET_RUN_ID").out;
  EXPECT_THAT(first, MatchesRegex("[0-9a-f-]{20,64}\n"));
  EXPECT_NE(first, RunShell("echo $FERRET_RUN_ID").out);
}

TEST(FerretRun, PreloadIsAddedAfterWhatIsThere) {
  EXPECT_THAT(RunShell("echo $LD_PRELOAD").out, MatchesRegex("/[^: ]*/libferret_preload.so\n"));
  EXPECT_THAT(RunShell("echo $LD_PRELOAD", {"LD_PRELOAD=libc.so.6"}).out,
              MatchesRegex("libc.so.6:/[^: ]*/libferret_preload.so\n"));
}

TEST(FerretRun, NoTorchLeavesThePreloadAlone) {
  const std::vector<std::string> command = {"run", "--no-torch", "sh", "-c", "echo $LD_PRELOAD $FERRET_EXPORT"};
  EXPECT_EQ(RunFerret(command).out, "chrome_trace:trace-%p.json.gz\n");
  EXPECT_EQ(RunFerret(command, {"LD_PRELOAD=libc.so.6"}).out, "libc.so.6 chrome_trace:trace-%p.json.gz\n");
}

TEST(FerretRun, WithoutThePreloadOnlyTorchFails) {
  TemporaryFolder folder;
  std::filesystem::copy_file(DataFile("tools/ferret"), folder / "ferret");
  EXPECT_EQ(RunProgram({folder / "ferret", "run", "sh", "-c", "echo $LD_PRELOAD"}).out, "\n");
  const Outcome outcome = RunProgram({folder / "ferret", "run", "--torch", "echo", "started"});
  EXPECT_EQ(outcome.exit_status, 125);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("libferret_preload.so"));
}

TEST(FerretRun, FindsThePreloadWhereItIsInstalled) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "bin");
  std::filesystem::create_directories(folder / "lib");
  std::filesystem::copy_file(DataFile("tools/ferret"), folder / "bin/ferret");
  std::filesystem::copy_file(DataFile("adapters/torch/preload/libferret_preload.so"),
                             folder / "lib/libferret_preload.so");
  EXPECT_EQ(RunProgram({folder / "bin/ferret", "run", "--torch", "sh", "-c", "echo $LD_PRELOAD"}).out,
            folder / "lib/libferret_preload.so" + "\n");
}

TEST(FerretRun, BadVariableStopsTheRunBeforeItStarts) {
  const Outcome outcome = RunShell("echo started", {"FERRET_BUFFER_SIZE=64"});
  EXPECT_EQ(outcome.exit_status, 125);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(StartsWith("ferret: FERRET_BUFFER_SIZE=\"64\""), HasSubstr("128K")));
}

TEST(FerretRun, BadExportStopsTheRunBeforeItStarts) {
  const Outcome outcome = RunFerret({"run", "--export", "Chrome Trace:t.json", "echo", "started"});
  EXPECT_EQ(outcome.exit_status, 125);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("Chrome Trace"));
}

TEST(FerretRun, UnknownVariableIsAWarning) {
  const Outcome outcome = RunShell("exit 0", {"FERRET_BUFFERSIZE=1M"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean FERRET_BUFFER_SIZE?"));
}

TEST(FerretRun, WrongUsageIs125AndSaysWhatIsRight) {
  const std::vector<std::string> wrong[] = {
      {"run"}, {"run", "--"}, {"run", "--export"}, {"run", "--export=", "true"}, {"run", "--frobnicate", "true"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const Outcome outcome = RunFerret(arguments);
    EXPECT_EQ(outcome.exit_status, 125);
    EXPECT_THAT(outcome.err, HasSubstr("usage: ferret run"));
  }
}

TEST(FerretRun, SignalsSentToItReachTheCommand) {
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH}) {
    Program ferret(Ferret({"run", "sh", "-c",
                           "trap 'echo got; exit 7' TERM INT HUP QUIT USR1 USR2 WINCH; echo ready; while :; do sleep "
                           "0.01; done"}));
    ASSERT_EQ(ferret.ReadLine(), "ready\n");
    kill(ferret.pid(), signal);
    const Outcome outcome = ferret.Wait();
    EXPECT_EQ(outcome.out, "got\n") << signal;
    EXPECT_EQ(outcome.exit_status, 7) << signal;
  }
}

TEST(FerretRun, SignalThatEndsTheCommandStillGivesASummary) {
  Program ferret(Ferret({"run", "sh", "-c", "echo ready; exec sleep 1000"}));
  ASSERT_EQ(ferret.ReadLine(), "ready\n");
  kill(ferret.pid(), SIGTERM);
  const Outcome outcome = ferret.Wait();
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_EQ(outcome.err, "ferret: nothing was recorded\n");
}

// The state letter of ps; waits until it is `wanted`, since a stop takes effect a moment after the signal was sent.
char WaitForState(pid_t pid, char wanted) {
  char state = '?';
  for (int i = 0; i < 2000 && state != wanted; ++i) {
    const std::string stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
    state = stat.empty() ? '?' : stat[stat.rfind(')') + 2];
    usleep(1000);
  }
  return state;
}

TEST(FerretRun, StopsAndContinuesWithTheCommand) {
  // Sent to ferret alone, and as a terminal and a shell send them: to the whole job.
  for (int whole_job : {0, 1}) {
    Program ferret(Ferret({"run", "sh", "-c", "echo $$; exec sleep 1000"}));
    const pid_t command = std::stoi(ferret.ReadLine());
    const pid_t target = whole_job ? -ferret.pid() : ferret.pid();
    kill(target, SIGTSTP);
    int status = 0;
    ASSERT_EQ(waitpid(ferret.pid(), &status, WUNTRACED), ferret.pid());
    EXPECT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(WaitForState(command, 'T'), 'T');
    kill(target, SIGCONT);
    EXPECT_EQ(WaitForState(ferret.pid(), 'S'), 'S');
    EXPECT_EQ(WaitForState(command, 'S'), 'S');
    kill(target, SIGTERM);
    EXPECT_EQ(ferret.Wait().signal, SIGTERM);
  }
}

// Runs the command below ferret on a terminal, presses Ctrl-C when it is ready and returns what the screen shows.
std::string PressInterrupt(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = Ferret({"run"});
  arguments.insert(arguments.end(), command.begin(), command.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(&argument[0]);
  argv.push_back(nullptr);
  int terminal = -1;
  const pid_t ferret = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (ferret == 0) {
    execv(argv[0], argv.data());
    _exit(99);
  }
  std::string screen;
  char buffer[256];
  bool pressed = false;
  for (ssize_t count = 0; (count = read(terminal, buffer, sizeof(buffer))) > 0;) {
    screen.append(buffer, static_cast<size_t>(count));
    if (!pressed && screen.find("ready") != std::string::npos) pressed = write(terminal, "\x03", 1) == 1;
  }
  close(terminal);
  waitpid(ferret, nullptr, 0);
  return screen;
}

TEST(FerretRun, KeyOfTheTerminalReachesTheCommandOnce) {
  const std::string counter = DataFile("tests/tools/fakes/count_interrupts");
  EXPECT_EQ(PressInterrupt({counter}), "ready\r\n^C1\r\nferret: nothing was recorded\r\n");
  // Whom the terminal does not mean, ferret does not tell.
  EXPECT_EQ(PressInterrupt({counter, "leave"}), "ready\r\n^C0\r\nferret: nothing was recorded\r\n");
}

TEST(FerretRun, AnEchoOfTheCommandsOwnSignalDoesNotComeBack) {
  EXPECT_EQ(RunShell("trap 'echo echoed' USR1; kill -USR1 $PPID; sleep 0.2; echo end").out, "end\n");
}

TEST(FerretRun, IgnoredSignalsStayIgnoredInTheCommand) {
  const char* script = "trap '' HUP CHLD; exec \"$0\" run sh -c 'kill -HUP $$; echo survived; exit 5'";
  const Outcome outcome = RunProgram({"sh", "-c", script, DataFile("tools/ferret")});
  EXPECT_EQ(outcome.out, "survived\n");
  EXPECT_EQ(outcome.exit_status, 5) << "the status is not lost although SIGCHLD was ignored";
}

TEST(FerretRun, SaysInOneLineWhereTheTraceIs) {
  EXPECT_EQ(RunShell("printf '%d\\tclose\\t12\\t0\\ttrace.json\\n' $$ >> $FERRET_RUN_REPORT").err,
            "ferret: trace.json: 12 events, none lost\n");
  const std::string two =
      "for i in 1 2; do printf '%d\\tclose\\t12\\t3\\tt-%d.json\\n' $i $i >> $FERRET_RUN_REPORT; done";
  EXPECT_EQ(RunShell(two).err, "ferret: 2 outputs: t-1.json, t-2.json: 24 events, 6 lost\n");
}

TEST(FerretRun, TraceOfAKilledCommandGetsItsName) {
  TemporaryFolder folder;
  const Outcome outcome = RunShell("cd " + folder.path() +
                                   "; echo data > t.json.tmp; printf '%d\\topen\\t%s\\t%s\\n' $$ $PWD/t.json.tmp "
                                   "$PWD/t.json >> $FERRET_RUN_REPORT; kill -KILL $$");
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_EQ(outcome.err, "ferret: " + (folder / "t.json") + ": cut short, the process was killed\n");
  EXPECT_EQ(ReadFile(folder / "t.json"), "data\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "t.json.tmp"));
}

TEST(FerretRun, LeavesNoTemporaryFile) {
  TemporaryFolder folder;
  RunShell("test -w $FERRET_RUN_REPORT", {"TMPDIR=" + folder.path()});
  RunShell("kill -KILL $$", {"TMPDIR=" + folder.path()});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FerretRun, RunsWithoutAPlaceForTheReport) {
  const Outcome outcome = RunShell("echo ran", {"TMPDIR=/no/such/folder"});
  EXPECT_EQ(outcome.out, "ran\n");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("/no/such/folder"), HasSubstr("no summary"), HasSubstr("no recovery")));
}

TEST(FerretCommand, HelpListsTheVariables) {
  for (const char* help : {"help", "--help"}) {
    const Outcome outcome = RunFerret({help});
    EXPECT_EQ(outcome.exit_status, 0);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("ferret run"), HasSubstr("FERRET_BUFFER_SIZE"), HasSubstr("default 64M")));
    EXPECT_EQ(outcome.err, "");
  }
  EXPECT_THAT(RunFerret({"help", "--markdown"}).out, StartsWith("| Variable |"));
  EXPECT_THAT(RunFerret({"help", "run"}).out, HasSubstr("--no-torch"));
  EXPECT_EQ(RunFerret({"run", "--help"}).out, RunFerret({"help", "run"}).out);
}

TEST(FerretCommand, VersionIsOneLine) { EXPECT_THAT(RunFerret({"--version"}).out, MatchesRegex("ferret [0-9.]+\n")); }

TEST(FerretCommand, UnknownCommandIsAnError) {
  const Outcome outcome = RunFerret({"frobnicate"});
  EXPECT_EQ(outcome.exit_status, 125);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("frobnicate"), HasSubstr("usage:")));
  EXPECT_EQ(RunFerret({}).exit_status, 125);
}

}  // namespace
}  // namespace ferret
