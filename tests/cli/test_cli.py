#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line as people and scripts meet it: screens, errors, exit codes, and every option by what it changes.

Usage: test_cli.py WICK ROOT. Expected values come from tests/cli/inputs.py, which writes the files, from hashlib and
from Python's own slices and pickletools.
"""
import base64
import hashlib
import io
import json
import os
import pickletools
import pty
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import inputs  # noqa: E402

WICK, ROOT = sys.argv[1], Path(sys.argv[2])
FOLDER = Path(tempfile.mkdtemp())


def run(*words, stdin=b"", env=None):
    done = subprocess.run([WICK, *words], cwd=FOLDER, input=stdin, capture_output=True, timeout=60,
                          env={**os.environ, "NO_COLOR": "", **(env or {})})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def out(*words, **more):
    code, text, errors = run(*words, **more)
    assert code == 0, f"{words}: exit {code}: {errors}"
    return text


def lines(*words, **more):
    return out(*words, **more).splitlines()


def documents(*words, **more):
    return [json.loads(line) for line in run(*words, **more)[1].splitlines()]


def names(*words):
    return [line.split("  ")[0].strip() for line in run(*words)[1].splitlines()]


def on_terminal(*words, columns=80, env=None):
    """What a terminal of that width gets."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(FOLDER)
        os.execve(WICK, [WICK, *words], {"TERM": "xterm", **(env or {})})
    import fcntl
    import termios
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    text = b""
    try:
        while part := os.read(master, 65536):
            text += part
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(master)
    return text.decode().replace("\r\n", "\n")


class Ls(unittest.TestCase):
    def test_prints_one_tensor_a_line_and_nothing_else(self):
        self.assertEqual(run("ls", "model.pt"), (0, (
            "layer.0.weight  float32  2 × 3   24\n"
            "layer.0.bias    float32  2        8\n"
            "layer.1.weight  float32  2 × 3   24\n"
            "layer.1.bias    float32  2        8\n"
            "head.weight     float16  2 × 2    8\n"
            "tied.weight     float32  3 × 2   24\n"
            "steps           int64    scalar   8\n"), ""))

    def test_long_adds_role_storage_offset_strides_and_device(self):
        row = next(line for line in lines("ls", "-l", "model.pt") if line.startswith("tied"))
        self.assertEqual(row.split(), ["tied.weight", "float32", "3", "×", "2", "24", "-", "0", "0", "1,3", "cpu"])
        self.assertEqual(lines("ls", "--long", "model.pt"), lines("ls", "-l", "model.pt"))

    def test_globs_pick_and_leave_out(self):
        self.assertEqual(names("ls", "model.pt", "-t", "*.weight", "-t", "!tied*"),
                         ["layer.0.weight", "layer.1.weight", "head.weight"])
        self.assertEqual(names("ls", "model.pt", "--tensor={steps,head.*}"), ["head.weight", "steps"])

    def test_regexes_pick(self):
        self.assertEqual(names("ls", "model.pt", "-e", "^layer.*bias$", "--regex", "steps"),
                         ["layer.0.bias", "layer.1.bias", "steps"])

    def test_where_filters_by_fields(self):
        self.assertEqual(names("ls", "model.pt", "--where", "dtype=float16 or bytes<=8 and name~^layer"),
                         ["layer.0.bias", "layer.1.bias", "head.weight"])
        self.assertEqual(names("ls", "model.pt", "--where", "shares>0"), ["layer.0.weight", "tied.weight"])
        self.assertEqual(names("ls", "model.pt", "--where", "shape=3x2"), ["tied.weight"])
        self.assertEqual(names("ls", "bad.pt", "--where", "error!=null"), ["lost"])
        self.assertEqual(names("ls", "model.pt", "--where", "storage.key=0 and offset=0 and strides='1x3'"), ["tied.weight"])

    def test_a_filter_that_matches_nothing_is_exit_1(self):
        for words in (["-t", "zzz"], ["-e", "zzz"], ["--where", "bytes>1GiB"]):
            self.assertEqual(run("ls", "model.pt", *words), (1, "", ""))

    def test_sort_orders_by_a_field_in_both_directions(self):
        self.assertEqual(names("ls", "model.pt", "--sort", "name")[0], "head.weight")
        self.assertEqual(names("ls", "model.pt", "--sort", "-name")[0], "tied.weight")
        self.assertEqual(names("ls", "model.pt", "--sort=bytes")[:2], ["layer.0.bias", "layer.1.bias"])
        self.assertEqual(names("ls", "model.pt", "--sort=-bytes")[0], "layer.0.weight")

    def test_group_folds_layer_numbers(self):
        self.assertEqual(lines("ls", "--group", "model.pt")[:2], [
            "layer.{0-1}.weight ×2  float32  2 × 3   48",
            "layer.{0-1}.bias ×2    float32  2       16"])
        groups = documents("ls", "--group", "--json", "model.pt")[0]["groups"]
        self.assertEqual(groups[0], {"name": "layer.{0-1}.weight", "count": 2, "dtype": "float32", "shape": [2, 3], "bytes": 48})

    def test_arrays_are_listed_when_asked_for(self):
        self.assertEqual(names("ls", "training.pt"), ["state_dict.fc.weight"])
        self.assertEqual(names("ls", "--arrays", "training.pt"), ["state_dict.fc.weight", "mean"])

    def test_digest_is_sha256_of_the_elements(self):
        rows = {row["name"]: row for row in documents("ls", "--json", "--digest", "model.pt")[0]["tensors"]}
        values = [0.0, 0.5, 1.0, -1.5, 2.0, 2.5]
        self.assertEqual(rows["layer.0.weight"]["sha256"], hashlib.sha256(struct.pack("<6f", *values)).hexdigest())
        tied = [values[i] for i in (0, 3, 1, 4, 2, 5)]
        self.assertEqual(rows["tied.weight"]["sha256"], hashlib.sha256(struct.pack("<6f", *tied)).hexdigest())
        self.assertIn(rows["steps"]["sha256"], out("ls", "--digest", "model.pt"))
        self.assertNotIn("sha256", documents("ls", "--json", "model.pt")[0]["tensors"][0])

    def test_offsets_say_where_bytes_lie_in_the_file(self):
        rows = documents("ls", "--json", "--offsets", "model.pt")[0]["tensors"]
        data = (FOLDER / "model.pt").read_bytes()
        for row, values in ((rows[1], [1.0, 2.0]), (rows[3], [3.0, 4.0])):
            at = row["storage"]["file_offset"]
            self.assertEqual(data[at:at + 8], struct.pack("<2f", *values))
            self.assertIn(str(at), out("ls", "--offsets", "model.pt", "-t", row["name"]))
        self.assertNotIn("file_offset", documents("ls", "--json", "model.pt")[0]["tensors"][0]["storage"])

    def test_root_picks_a_branch(self):
        self.assertEqual(names("ls", "training.pt", "--root", "state_dict"), ["fc.weight"])
        self.assertEqual(names("ls", "training.pt", "--root", "."), ["state_dict.fc.weight"])
        self.assertEqual(names("ls", "training.pt", "--root", "auto"), ["fc.weight"])
        code, _, errors = run("ls", "training.pt", "--root", "state_dicts")
        self.assertEqual(code, 2)
        self.assertTrue(errors.startswith("wick: training.pt: there is no 'state_dicts'"), errors)

    def test_members_are_the_records_of_the_archive(self):
        with zipfile.ZipFile(FOLDER / "model.pt") as archive:
            expected = [(e.filename, e.file_size, e.compress_size, f"{e.CRC:08x}", e.header_offset) for e in archive.infolist()]
        rows = documents("ls", "--members", "--json=rows", "model.pt")
        self.assertEqual([(r["name"], r["bytes"], r["compressed_bytes"], r["crc32"], r["header_offset"]) for r in rows], expected)
        self.assertEqual([line.split()[0] for line in lines("ls", "--members", "model.pt")], [e[0] for e in expected])
        self.assertEqual(names("ls", "--members", "model.pt", "-t", "*/version"), ["archive/version"])

    def test_a_bad_tensor_is_listed_with_its_error_and_ends_in_exit_2(self):
        code, text, errors = run("ls", "bad.pt")
        self.assertEqual(code, 2)
        self.assertRegex(text, r"(?m)^good +float32 +1 +4$")
        self.assertRegex(text, r"(?m)^lost +float32 +2 +8  error: .*1")
        self.assertEqual(errors, "wick: bad.pt: 1 of 2 tensors can not be read; each says why\n")
        rows = documents("ls", "--json", "bad.pt")[0]["tensors"]
        self.assertNotIn("error", rows[0])
        self.assertEqual(rows[1]["error"]["class"], "not-found")

    def test_rows_stream_with_schema_and_file(self):
        rows = documents("ls", "--json=rows", "flat.pt")
        self.assertEqual([(r["schema"], r["file"], r["name"]) for r in rows],
                         [("wick.ls.row/1", "flat.pt", f"w{i:05}") for i in range(3)])

    def test_fields_are_only_those_asked_for(self):
        self.assertEqual(documents("ls", "--json=shape,name", "flat.pt")[0], {"name": "w00000", "shape": [1]})
        self.assertEqual(set(documents("ls", "--json=name,file", "flat.pt")[0]), {"name", "file"})
        self.assertEqual(set(documents("ls", "--json=sha256", "flat.pt")[0]), {"sha256"})

    def test_several_files_put_their_names_before_each_line(self):
        self.assertEqual(names("ls", "flat.pt", "walked/a.pt")[-2:], ["flat.pt::w00002", "walked/a.pt::x"])

    def test_shares_and_storage_are_told(self):
        row = documents("ls", "--json", "model.pt")[0]["tensors"][5]
        self.assertEqual(row["path"], ["tied.weight"])
        self.assertEqual((row["shares"], row["strides"], row["offset"]), (["layer.0.weight"], [1, 3], 0))
        self.assertEqual({k: row["storage"][k] for k in ("key", "bytes", "used_bytes", "compressed")},
                         {"key": "0", "bytes": 24, "used_bytes": 24, "compressed": False})
        self.assertTrue(row["storage"]["member"].endswith("data/0"))


class Tree(unittest.TestCase):
    def test_prints_objects_with_bytes(self):
        self.assertEqual(out("tree", "training.pt"), (
            "training.pt  dict of 7  2 tensors  40 B\n"
            "├─ epoch         3\n"
            "├─ state_dict    dict of 1                  16 B\n"
            "│  └─ fc.weight  float32 [2, 2]             16 B\n"
            "├─ note          'red \\x1b[31m'\n"
            "├─ big           1208925819614629174706176\n"
            "├─ scores        [0.5, 0.25]\n"
            "├─ nested        dict of 1\n"
            "│  └─ a          dict of 1\n"
            "│     └─ b       1\n"
            "└─ mean          float64 [3]                24 B\n"))

    def test_depth_ends_the_walk(self):
        shallow = lines("tree", "--depth", "1", "training.pt")
        self.assertEqual(len(shallow), 8)
        self.assertEqual(len(lines("tree", "--depth=0", "training.pt")), 1)
        self.assertNotIn("children", documents("tree", "--json", "--depth", "1", "training.pt")[0]["root"]["children"][1])

    def test_what_nests_without_end_is_cut_and_told(self):
        (FOLDER / "nest.pkl").write_bytes(b"\x80\x02" + b"]" * 900 + b"a" * 899 + b".")
        self.assertIn("(839 deeper; --depth N shows them)", lines("tree", "nest.pkl")[-1])
        node, levels = documents("tree", "--json", "nest.pkl")[0]["root"], 0
        while "children" in node:
            node, levels = node["children"][0], levels + 1
        self.assertEqual((levels, node["deeper"]), (60, 839))
        self.assertEqual(len(lines("tree", "--depth", "400", "nest.pkl")), 401)

    def test_root_starts_further_down(self):
        self.assertEqual(lines("tree", "--root", "nested.a", "training.pt")[1:], ["└─ b  1"])

    def test_json_nests(self):
        root = documents("tree", "--json", "training.pt")[0]["root"]
        children = {c["name"]: c for c in root["children"]}
        self.assertEqual((root["kind"], root["class"], root["tensors"], root["bytes"]), ("dict", "dict", 2, 40))
        self.assertEqual(children["big"]["value"], {"int": str(2**80)})
        self.assertEqual(children["note"]["value"], "red \x1b[31m")
        self.assertEqual(children["nested"]["children"][0]["children"][0]["value"], 1)
        self.assertEqual(children["state_dict"]["children"][0]["shape"], [2, 2])

    def test_repr_of_what_is_no_module_is_a_no(self):
        code, text, errors = run("tree", "--repr", "flat.pt")
        self.assertEqual((code, text, errors), (1, "", "wick: flat.pt: holds no torch.nn module there\n"))

    def test_repr_prints_a_module_as_python_does(self):
        self.assertIn("Conv2d(", out("tree", "--repr", str(ROOT / "examples/resnet.pt")))


class Show(unittest.TestCase):
    def test_prints_a_slice(self):
        self.assertEqual(out("show", "model.pt", "layer.0.weight[:, :2]"),
                         "float32 [2, 2] of [2, 3]\n  0.0000   0.5000\n -1.5000   2.0000\n")
        self.assertEqual(out("show", "model.pt::steps"), "int64 []\n 7\n")
        self.assertEqual(out("show", "model.pt", "head.weight"), "float16 [2, 2]\n 0.2500  0.5000\n 0.7500  1.0000\n")

    def test_slices_equal_pythons(self):
        values = list(range(2000))
        for text in ("0:3", "-3:", "::-500", "10:4:-2", "1990:5000", "5:5", "1999", "-2000"):
            expected = eval(f"values[{text}]", {"values": values})
            got = documents("show", "--json", "long.pt", f"row[{text}]")[0]
            self.assertEqual(got["value"], expected, text)
            self.assertEqual(got["of"], [2000])

    def test_strides_are_followed(self):
        got = documents("show", "--json", "model.pt", "tied.weight[::-1]")[0]
        self.assertEqual((got["value"], got["shape"], got["dtype"]), ([[1.0, 2.5], [0.5, 2.0], [0.0, -1.5]], [3, 2], "float32"))

    def test_many_elements_are_cut_as_torch_cuts_them(self):
        self.assertEqual(lines("show", "long.pt", "row"), [
            "int64 [2000]", "    0     1     2  ...  1997  1998  1999",
            "2,000 elements in all; show a slice, or --json gives every one"])

    def test_an_index_outside_is_an_error_with_numbers(self):
        self.assertEqual(run("show", "model.pt", "steps[0]")[::2],
                         (2, "wick: model.pt::steps[0]: 1 indices for a tensor of 0 dimensions\n"))
        self.assertEqual(run("show", "long.pt", "row[2000]")[::2],
                         (2, "wick: long.pt::row[2000]: index 2000 is out of bounds for dimension 0 with size 2000\n"))

    def test_a_slice_that_is_none_is_exit_64(self):
        self.assertEqual(run("show", "long.pt", "row[a]")[0], 64)

    def test_prints_objects_and_scalars(self):
        self.assertEqual(out("show", "training.pt", "epoch"), "3\n")
        self.assertEqual(out("show", "training.pt", "note"), "'red \\x1b[31m'\n")
        self.assertEqual(lines("show", "training.pt", "nested")[1:], ["└─ a     dict of 1", "   └─ b  1"])
        self.assertEqual(documents("show", "--json", "training.pt", "nested.a")[0]["value"]["children"][0]["value"], 1)
        self.assertEqual(len(lines("show", "--depth", "1", "training.pt", "nested")), 2)

    def test_prints_a_record_as_it_is(self):
        self.assertEqual(out("show", "model.pt", "version"), "3\n")
        self.assertEqual(out("show", "bundle.zip", "readme.txt"), "hello")
        self.assertEqual(documents("show", "--json", "model.pt", "archive/data/1")[0]["value"],
                         {"bytes_b64": base64.b64encode(struct.pack("<2f", 1, 2)).decode()})

    def test_picks_tensors_by_glob_and_regex(self):
        self.assertEqual(out("show", "model.pt", "-t", "*.bias"),
                         "layer.0.bias  float32 [2]\n 1.  2.\nlayer.1.bias  float32 [2]\n 3.  4.\n")
        self.assertEqual(out("show", "model.pt", "-e", "^steps$"), "steps  int64 []\n 7\n")
        self.assertEqual(run("show", "model.pt", "-t", "zzz")[0], 1)

    def test_root_is_where_names_begin(self):
        self.assertEqual(out("show", "training.pt", "--root", "nested", "a.b"), "1\n")

    def test_a_name_that_is_not_there_says_what_is(self):
        code, _, errors = run("show", "training.pt", "nested.x")
        self.assertEqual(code, 2)
        self.assertIn("there are: a", errors)

    def test_a_bad_tensor_is_exit_2(self):
        code, text, errors = run("show", "bad.pt", "lost")
        self.assertEqual((code, text), (2, ""))
        self.assertTrue(errors.startswith("wick: bad.pt::lost: "), errors)

    def test_disasm_equals_pickletools(self):
        with zipfile.ZipFile(FOLDER / "training.pt") as archive:
            data = archive.read("archive/data.pkl")
        got = documents("show", "--disasm", "--json", "training.pt")[0]["disasm"]
        expected = [(at, op.name, None if arg is None else (repr(arg) if not isinstance(arg, str) or op.name.endswith("UNICODE") else str(arg)))
                    for op, arg, at in pickletools.genops(data)]
        self.assertEqual([(i["offset"], i["opcode"]) for i in got], [(at, name) for at, name, _ in expected])
        shown = io.StringIO()
        pickletools.dis(data, shown, annotate=0)
        for instruction, line in zip(got, shown.getvalue().splitlines()):
            if instruction["arg"] is not None:
                self.assertTrue(line.rstrip().endswith(instruction["arg"]) or "(MARK at" in line, (line, instruction))
        text = lines("show", "--disasm", "training.pt")
        self.assertEqual(len(text), len(got))
        self.assertEqual(text[0].split(), ["0:", "PROTO", "2"])


class Info(unittest.TestCase):
    def test_says_what_the_file_is_and_holds(self):
        text = out("info", "model.pt")
        size = (FOLDER / "model.pt").stat().st_size
        self.assertRegex(text, r"^model\.pt    PyTorch checkpoint \(zip\), %.2f kB\n" % (size / 1000))
        self.assertRegex(text, r"(?m)^holds       7 model tensors  ")
        self.assertRegex(text, r"(?m)^layout      6 storages of 80 B, ")
        self.assertRegex(text, r"(?m)^            7 persistent ids, each is a tensor's$")
        self.assertEqual(text, out("model.pt"))

    def test_json_counts_each_storage_range_once(self):
        facts = documents("info", "--json", "model.pt")[0]
        self.assertEqual((facts["tensors"], facts["storages"], facts["storage_bytes"], facts["holds"], facts["mime"]),
                         (7, 6, 80, "state-dict", "application/zip"))
        self.assertEqual((facts["dtypes"], facts["devices"]), ({"float32": 5, "float16": 1, "int64": 1}, {"cpu": 7}))
        self.assertEqual(facts["persistent_ids"], {"total": 7, "used": 7})
        self.assertEqual(facts["bytes"], (FOLDER / "model.pt").stat().st_size)

    def test_training_state_is_found(self):
        self.assertRegex(out("info", "training.pt"), r"(?m)^training    epoch 3")
        self.assertEqual(documents("info", "--json", "training.pt")[0]["training"]["epoch"]["value"], 3)

    def test_a_bad_tensor_is_told_and_exit_2(self):
        code, text, _ = run("info", "bad.pt")
        self.assertEqual(code, 2)
        self.assertIn("1 of 2 tensors can not be read", text)

    def test_an_archive_is_told_with_its_models(self):
        text = out("info", "bundle.zip")
        self.assertIn("2 members, 1 of them a model file", text)
        self.assertRegex(text, r"(?m)^bundle\.zip::weights/policy\.pth   PyTorch checkpoint")
        self.assertEqual([d["file"] for d in documents("info", "--json", "bundle.zip")],
                         ["bundle.zip", "bundle.zip::weights/policy.pth"])


class Inputs(unittest.TestCase):
    def test_members_of_archives_are_files(self):
        self.assertEqual(len(lines("ls", "bundle.zip::weights/policy.pth")), 7)
        self.assertEqual(names("ls", "bundle.zip")[-1], "bundle.zip::weights/policy.pth::steps")
        self.assertEqual(out("show", "bundle.zip::weights/policy.pth::steps"), "int64 []\n 7\n")

    def test_a_name_behind_the_file_picks_rows(self):
        self.assertEqual(names("ls", "model.pt::layer.0"), ["layer.0.weight", "layer.0.bias"])
        self.assertEqual(run("ls", "model.pt::layer.9")[0], 2)

    def test_stdin_is_a_file(self):
        data = (FOLDER / "flat.pt").read_bytes()
        self.assertEqual(names("ls", "flat.pt"), [line.split("  ")[0] for line in out("ls", "-", stdin=data).splitlines()])

    def test_lists_of_paths(self):
        (FOLDER / "list").write_text("flat.pt\n\nwalked/a.pt\n")
        expected = names("ls", "flat.pt", "walked/a.pt")
        self.assertEqual(names("ls", "@list"), expected)
        self.assertEqual([line.split("  ")[0] for line in out("ls", "@-", stdin=b"flat.pt\nwalked/a.pt\n").splitlines()], expected)
        self.assertEqual([line.split("  ")[0] for line in out("ls", "-0", "@-", stdin=b"flat.pt\0walked/a.pt").splitlines()], expected)

    def test_folders_are_walked_and_strangers_passed_over(self):
        code, text, errors = run("ls", "walked")
        self.assertEqual((code, [line.split("  ")[0] for line in text.splitlines()]), (0, ["walked/a.pt::x"]))
        self.assertEqual(errors, "wick: 1 file passed over that is no model (-v names them)\n")
        self.assertIn("walked/readme.md: passed over", run("ls", "-v", "walked")[2])
        self.assertEqual(run("ls", "-q", "walked")[2], "")

    def test_a_folder_without_models_is_a_no(self):
        (FOLDER / "nothing").mkdir(exist_ok=True)
        self.assertEqual(run("info", "nothing")[0], 1)

    def test_two_dashes_end_options(self):
        self.assertEqual(run("ls", "--", "--long")[0], 2)

    def test_a_command_is_no_file_unless_spelled_as_one(self):
        (FOLDER / "tree").write_bytes((FOLDER / "flat.pt").read_bytes())
        self.assertIn("3 model tensors", out("./tree"))
        self.assertEqual(run("tree")[0], 64)


class Errors(unittest.TestCase):
    def test_strangers_are_named_with_a_next_step(self):
        code, text, errors = run("info", "pointer.bin")
        self.assertEqual((code, text), (2, ""))
        self.assertRegex(errors, r"^wick: pointer\.bin: .*Git LFS pointer.*440,473,133")
        self.assertRegex(errors, r"(?m)^      .*git lfs pull")
        self.assertNotIn("Traceback", errors)

    def test_json_errors_are_objects_on_stdout(self):
        code, text, errors = run("info", "--json", "pointer.bin")
        error = json.loads(text)
        self.assertEqual((code, error["schema"], error["file"], error["error"]["code"]),
                         (2, "wick.error/1", "pointer.bin", "git-lfs-pointer"))
        self.assertTrue(errors)

    def test_a_file_that_is_not_there(self):
        code, text, errors = run("ls", "absent.pt")
        self.assertEqual((code, text), (2, ""))
        self.assertTrue(errors.startswith("wick: absent.pt: "), errors)

    def test_one_bad_input_does_not_stop_the_others(self):
        code, text, errors = run("ls", "absent.pt", "flat.pt")
        self.assertEqual((code, len(text.splitlines())), (2, 3))

    def test_names_from_files_are_escaped_on_the_screen_and_exact_in_json(self):
        for words in (["tree", "training.pt"], ["tree", "odd.pkl"], ["show", "odd.pkl"], ["info", "odd.pkl"]):
            self.assertNotIn("\x1b", out(*words))
        names_ = {c["name"]: c for c in documents("tree", "--json", "odd.pkl")[0]["root"]["children"]}
        odd = next(c for name, c in names_.items() if name.startswith("lone"))
        self.assertEqual(base64.b64decode(odd["name_b64"]), "lone \ud800".encode("utf-8", "surrogatepass"))

    def test_python_2_strings_follow_the_encoding(self):
        self.assertEqual(lines("show", "--encoding", "latin1", "python2.pkl")[1], "└─ café  'é!'")
        self.assertEqual(lines("show", "--encoding", "bytes", "python2.pkl")[1], "└─ caf\\xe9  b'\\xe9!'")
        self.assertEqual(documents("tree", "--json", "--encoding=latin1", "python2.pkl")[0]["root"]["children"][0]["value"], "é!")

    def test_wrong_command_lines_are_exit_64_with_a_sentence(self):
        cases = {
            ("sl", "x"): "wick: there is no command and no file named sl (did you mean ls?)\n      wick help lists the commands\n",
            ("scan", "model.pt"): "wick: scan is not in this version of wick\n      It has info, ls, tree and show. A file of that name is ./scan\n",
            ("ls", "model.pt", "--lnog"): "wick: ls has no option --lnog (did you mean --long?)\n      wick help ls\n",
            ("ls",): "wick: ls needs an INPUT: a file, a folder, - or @list\n      wick help ls\n",
            ("info", "--json=rows", "model.pt"): "wick: --json=rows: info has no rows; only ls has\n      wick info --json gives one object for each file\n",
            ("ls", "--encoding", "utf8", "model.pt"): "wick: --encoding utf8: not one of utf-8|latin1|bytes (did you mean utf-8?)\n",
            ("completion", "tcsh"): "wick: completion needs the name of a shell: bash, zsh or fish\n",
            ("ls", "--max-depth", "x", "model.pt"): "wick: --max-depth x: no number that fits\n",
            ("tree", "--depth", "x", "model.pt"): "wick: --depth x: no number of levels\n",
        }
        for words, expected in cases.items():
            self.assertEqual(run(*words), (64, "", expected), words)
        self.assertEqual(run("ls", "--json=nmae", "model.pt")[2].splitlines()[0],
                         "wick: --json=nmae: rows have no key nmae (did you mean name?)")
        self.assertEqual(run("ls", "--sort", "byte", "model.pt")[2].splitlines()[0],
                         "wick: there is no field byte (did you mean bytes?)")

    def test_limits_are_obeyed(self):
        deep = FOLDER / "deep.pkl"
        deep.write_bytes(b"\x80\x02" + b"]" * 50 + b"a" * 49 + b".")
        self.assertEqual(run("tree", "deep.pkl")[0], 0)
        code, _, errors = run("tree", "--max-depth", "10", "deep.pkl")
        self.assertEqual((code, "--max-depth" in errors), (2, True))
        (FOLDER / "busy.pkl").write_bytes(b"\x80\x02" + b"N0" * 500_000 + b"N.")
        self.assertEqual(run("info", "busy.pkl")[0], 0)
        for option, name in (("--max-memory=16", "model.pt"), ("--max-memo=0", "model.pt"), ("--max-opcodes=3", "busy.pkl"),
                             ("--max-members=2", "model.pt")):
            code, _, errors = run("ls", option, name)
            self.assertEqual((code, option.split("=")[0] in errors), (2, True), (option, errors))
        code, _, errors = run("ls", "--max-nesting=0", "bundle.zip::weights/policy.pth")
        self.assertEqual((code, "--max-nesting" in errors), (2, True))
        with zipfile.ZipFile(FOLDER / "zeros.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/data.pkl", b"\x80\x02B" + struct.pack("<I", 8 << 20) + bytes(8 << 20) + b".")
            archive.writestr("archive/version", b"3\n")
        self.assertEqual(run("info", "zeros.zip")[0], 0)
        code, _, errors = run("info", "--max-ratio=10", "zeros.zip")
        self.assertEqual((code, "--max-ratio" in errors), (2, True), errors)

    def test_a_closed_pipe_is_quiet(self):
        done = subprocess.run(f"'{WICK}' ls --json=rows flat.pt flat.pt | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
                              shell=True, executable="/bin/bash", cwd=FOLDER, capture_output=True, text=True)
        self.assertEqual((done.stdout.strip(), done.stderr), ("0", ""))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([WICK, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "wick: writing to stdout: No space left on device\n"))


class Terminal(unittest.TestCase):
    def test_titles_and_the_total_are_for_terminals(self):
        text = on_terminal("ls", "model.pt", env={"NO_COLOR": "1"})
        self.assertRegex(text.splitlines()[0], r"^name +dtype +shape +bytes$")
        self.assertEqual(text.splitlines()[-1], "7 tensors, 27 elements, 104 B")
        self.assertNotIn("elements", on_terminal("ls", "-q", "model.pt"))

    def test_colour_is_for_terminals_and_no_color_is_honoured(self):
        self.assertIn("\x1b[31m", on_terminal("ls", "bad.pt"))
        self.assertNotIn("\x1b[", on_terminal("ls", "bad.pt", env={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b[", on_terminal("ls", "--color=never", "bad.pt"))
        self.assertNotIn("\x1b[", run("ls", "bad.pt")[1])
        self.assertIn("\x1b[31m", run("ls", "--color", "always", "bad.pt")[1])
        self.assertIn("\x1b[31m", run("ls", "--color", "always", "bad.pt", env={"NO_COLOR": "1"})[1])


class Pages(unittest.TestCase):
    def table(self):
        text = re.sub(r"(?m)^//.*$", "", (ROOT / "cli/options.def").read_text())
        commands = re.findall(r'WICK_COMMAND\(\w+, "(\w+)"', text)
        options = re.findall(r'WICK_OPTION\(\w+, "([\w-]+)", (?:\'(.)\'|0), "([^"]*)", "(\w+)"', text)
        self.assertGreater(len(options), 20)
        return commands, options

    def test_help_pages_name_every_option_of_their_command_and_no_other(self):
        commands, options = self.table()
        for command in commands:
            page = out("help", command)
            self.assertEqual(page, out(command, "--help"))
            self.assertEqual(page, out(command, "-h"))
            listed = re.findall(r"(?m)^  (?:-(\w), |    )--([\w-]+)(.*?)(?:  |$)", page)
            expected = [(letter, name) for name, letter, _, letters in options if command[0] in letters]
            self.assertEqual(sorted((letter, name) for letter, name, _ in listed), sorted(expected), command)
            self.assertEqual(len(re.findall(r"(?m)^  wick |^  \S.*\| cut", page)), 3, "three examples")
            self.assertRegex(page, r"(?m)^Exit codes$")
            self.assertTrue(all(len(line) <= 80 for line in page.splitlines()), command)

    def test_help_pages_are_exactly_these(self):
        folder = Path(__file__).parent / "pages"
        for command in (*self.table()[0], ""):
            path = folder / f"{command or 'wick'}.txt"
            page = out("help", *([command] if command else []))
            if os.environ.get("WICK_REBASE") == "1":
                folder.mkdir(exist_ok=True)
                path.write_text(page)
            self.assertEqual(page, path.read_text(), path.name)

    def test_man_page_and_completions_name_every_command_and_option(self):
        commands, options = self.table()
        man = out("help", "--man").replace("\\-", "-")
        for name, letter, argument, letters in options:
            self.assertIn(f"--{name}", man)
        for shell in ("bash", "zsh", "fish"):
            script = out("completion", shell)
            for command in commands:
                self.assertIn(command, script)
            for name, letter, argument, letters in options:
                self.assertIn(f"-l {name}" if shell == "fish" else f"--{name}", script)

    def test_bash_completes(self):
        script = FOLDER / "wick.bash"
        script.write_text(out("completion", "bash"))
        def complete(*words):
            quoted = " ".join(f"'{word}'" for word in words)
            done = subprocess.run(["bash", "-c", f"source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _wick; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
                                  capture_output=True, text=True, cwd=FOLDER)
            self.assertEqual(done.stderr, "")
            return done.stdout.split()
        self.assertEqual(complete("wick", "sho"), ["show"])
        self.assertEqual(complete("wick", "ls", "--gr"), ["--group"])
        self.assertEqual(complete("wick", "ls", "--color", "a"), ["auto", "always"])
        self.assertEqual(complete("wick", "completion", "z"), ["zsh"])
        self.assertIn("model.pt", complete("wick", "ls", "mod"))

    def test_version(self):
        version = re.search(r"project\(wick VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual(out("version"), f"wick {version}\n")
        self.assertEqual(out("--version"), f"wick {version}\n")

    def test_every_limit_has_its_row_in_the_page(self):
        page = (ROOT / "docs/limits.md").read_text()
        for name, _, _, _ in self.table()[1]:
            if name.startswith("max-"):
                self.assertIn(f"| `--{name}` |", page)
        fields = re.findall(r"std::uint\d+_t (max_\w+)", (ROOT / "include/wick/limits.h").read_text())
        self.assertEqual(sorted(f"max-{f[4:].replace('_', '-')}" for f in fields),
                         sorted(name for name, *_ in self.table()[1] if name.startswith("max-")))

    def test_the_table_has_no_command_that_the_design_lacks(self):
        design = Path(os.environ.get("WICK_SHARED", ROOT.parent / "shared")) / "design/cli.md"
        if not design.exists():
            self.assertNotEqual(os.environ.get("WICK_REQUIRE_ORACLE"), "1")
            self.skipTest("no design there")
        rows = re.findall(r"(?m)^\|[^|]*\| (`[^|]*) \|", design.read_text())
        designed = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
        commands = self.table()[0]
        self.assertLessEqual(set(commands), designed)
        later = set(re.findall(r'WICK_LATER\("(\w+)"\)', (ROOT / "cli/options.def").read_text()))
        self.assertEqual(set(commands) | later, designed | {"rules"})


if __name__ == "__main__":
    inputs.write_all(FOLDER)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
