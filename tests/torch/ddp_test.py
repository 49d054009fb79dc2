# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""torchrun with two ranks: one whole trace for each, and the collectives that end on another thread are in it.

    python3 ddp_test.py FERRET LIBFERRET_TORCH
"""
import pathlib

import ferret_run
import train_ddp

HERE = pathlib.Path(__file__).resolve().parent


class DdpTest(ferret_run.FerretTest):
    def test_two_ranks(self):
        folder = ferret_run.temporary_folder("ddp")
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", HERE / "train_ddp.py"]
        self.assert_same_run(torchrun, f"chrome_trace:{folder}/rank-%r.json.gz",
                             env={"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"})
        self.assertEqual(sorted(f.name for f in folder.iterdir()), ["rank-0.json.gz", "rank-1.json.gz"],
                         "a trace for each rank, none for the launcher")
        for rank in range(2):
            trace = self.load(folder / f"rank-{rank}.json.gz")
            about = trace.document["distributedInfo"]
            self.assertEqual((about["rank"], about["world_size"]), (rank, 2))
            self.assert_steps(trace, at_least=train_ddp.STEPS - 1)
            self.assertEqual(len(trace.named("DistributedDataParallel.forward")), train_ddp.STEPS)
            begun = [e for e in trace.events if e.get("name") == "gloo:all_reduce" and e["ph"] in "Xb"]
            # The gradients' bucket and the two of the loop. (The first step may reduce in more buckets.)
            self.assertGreaterEqual(len(begun), 3 * train_ddp.STEPS)
            ended = [e for e in trace.events if e.get("name") == "gloo:all_reduce" and e["ph"] in "Xe"]
            self.assertEqual(len(ended), len(begun))


if __name__ == "__main__":
    ferret_run.main()
