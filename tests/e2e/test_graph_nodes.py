# SPDX-License-Identifier: Apache-2.0
"""What is inside of graphs: the report against the simulator, which counts the kernels that it runs for a graph's launch."""
import json
import re
import subprocess

import pytest

from conftest import REPORTER, ROOT, VIRTUAL_TIME

REMADE = 'tests/e2e/remade'


@pytest.fixture
def graphs(run, tmp_path):
    """graphs('capture', 20) runs `remade` under the sampler."""

    def go(*args, program=REMADE, **variables):
        for earlier in tmp_path.glob('*.cudaspy'):
            earlier.unlink()
        r = run(program, *args, **{'CUDASPY_GPU': 'sample', 'SIM_COST': 0, **VIRTUAL_TIME, **variables})
        assert r.status == 0, r.out + r.err
        return r

    return go


def text_report(r):
    """The whole text, in one line."""
    p = subprocess.run([REPORTER, 'report', '--all', r.recording], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return ' '.join(p.stdout.split())


def in_graphs(r):
    """By kernel: runs in graphs, as the report and as the simulator have it."""
    said = {k['name']: k['graph_launches'] for k in r.report['kernels'] if k['graph_launches']}
    true = {k['name']: k['graph_launches'] for k in r.truth['kernels'] if k['graph_launches']}
    return said, true


@pytest.mark.parametrize('how', ['capture', 'nodes', 'clone', 'child', 'kept', 'distinct', 'update'])
def test_each_kernels_runs(graphs, how):
    r = graphs(how, 60)
    said, true = in_graphs(r)
    assert said == true and sum(true.values()) >= 480
    inside = r.report['in_graphs']
    assert inside['launches_known'] == inside['launches'] == r.truth['totals']['graph_launches']
    assert inside['launches_in_part'] == 0
    assert inside['kernels'] == r.truth['totals']['graph_kernels']


def judged(r, *rule):
    """The status and the text of check, with one rule."""
    p = subprocess.run([REPORTER, 'check', *rule, r.recording], stdout=subprocess.PIPE, universal_newlines=True)
    return p.returncode, ' '.join(p.stdout.split())


@pytest.mark.parametrize('how', ['capture', 'nodes'])
def test_the_gate_sees_kernels_in_graphs(graphs, how):
    """Also where nothing captured them: that one must run or must not is said of what ran."""
    r = graphs(how, 60)
    said, _ = in_graphs(r)
    status, text = judged(r, '--expect-kernel', '^five$')
    assert status == 0 and ('expect-kernel ^five$: %d; in graphs alone' % said['five']) in text
    status, text = judged(r, '--limit', 'kernel "^five$" launches = 0')
    assert status == 1 and ('launches = 0: %d, limit 0' % said['five']) in text
    assert judged(r, '--limit', 'kernel "^six$" launches = 0')[0] == 0
    assert judged(r, '--expect-kernel', '^six$')[0] == 1


def test_a_graphs_kernels(graphs):
    r = graphs('capture', 10)
    assert len(r.report['graphs']) == 20
    for g in r.report['graphs']:
        assert g['nodes'] == g['kernel_nodes'] and g['nodes_complete'] and not g['nodes_changed'] and g['launches'] == 1
        kernel, = g['kernels']
        assert (kernel['name'], kernel['nodes'], kernel['launches']) in (('five', 4, 4), ('eleven', 6, 6))
        assert kernel['grid'] == [1, 1, 1] and kernel['block'] == [32, 1, 1]


def test_a_kernels_share_of_a_graphs_time(graphs, compile_c):
    """The graph is timed as a whole; its kernels' times outside of graphs divide it. Of a kernel that was never alone nobody
    knows, nor then of the others; where there is one kind, it is all."""
    program = compile_c('''
        #include <string.h>
        #include "tests/e2e/programs/work.h"
        int main(int argc, char **argv)
        {
            static const char image[] = "simcuda 1\\nkernel five fixed:5000\\nkernel eleven fixed:11000\\n";
            CUfunction f[2];
            CUgraphExec exec;
            CUgraph graph;
            CUmodule module;
            CUstream s;
            work_start();
            CHECK(cuModuleLoadData(&module, image));
            CHECK(cuModuleGetFunction(&f[0], module, "five"));
            CHECK(cuModuleGetFunction(&f[1], module, "eleven"));
            CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
            for (int i = 0; i < 400; i++) {
                CHECK(work_launch(f[i % 2 && !strcmp(argv[1], "both")], s));
                CHECK(cuStreamSynchronize(s));
            }
            CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
            for (int i = 0; i < 6; i++)
                CHECK(work_launch(f[i >= 4 && strcmp(argv[1], "same")], s));
            CHECK(cuStreamEndCapture(s, &graph));
            CHECK(cuGraphInstantiate(&exec, graph, 0));
            for (int i = 0; i < 400; i++) {
                CHECK(cuGraphLaunch(exec, s));
                CHECK(cuStreamSynchronize(s));
            }
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1')
    r = graphs('both', program=program)
    g, = r.report['graphs']
    shares = {k['name']: k['gpu_share_estimated'] for k in g['kernels']}
    assert shares == pytest.approx({'five': 20 / 42, 'eleven': 22 / 42}, rel=0.15) and sum(shares.values()) == pytest.approx(1)
    for k in g['kernels']:
        assert k['gpu_total_ns_estimated'] == pytest.approx(k['gpu_share_estimated'] * g['gpu_total_ns'])
    assert re.search(r'Of the GPU time of 0x\w+, estimated by what they take outside of graphs: (eleven|five) [45]\d\.\d %, '
                     r'(eleven|five) [45]\d\.\d %\.', text_report(r))
    r = graphs('one', program=program)
    g, = r.report['graphs']
    assert [k['gpu_share_estimated'] for k in g['kernels']] == [None, None]
    assert 'outside of graphs' not in text_report(r)
    g, = graphs('same', program=program).report['graphs']
    assert [k['gpu_share_estimated'] for k in g['kernels']] == [1]


def test_an_update_at_every_launch(graphs):
    """The graph tells what it held when it was made, and that it was changed; the kernels' counts are exact all the same."""
    r = graphs('update', 30)
    g, = [g for g in r.report['graphs'] if g['launches']]
    assert g['nodes_changed'] and g['kernels'][0]['launches'] is None
    said, true = in_graphs(r)
    assert said == true == {'five': 120, 'eleven': 120}


def test_a_node_that_becomes_another_kernel(graphs):
    """From then on nobody knows what it holds; of the other executable it is known."""
    r = graphs('params', 30)
    inside = r.report['in_graphs']
    assert (inside['launches'], inside['launches_known']) == (60, 30)
    assert in_graphs(r)[0] == {'five': 120}


def test_new_arguments_of_a_node(graphs, compile_c):
    """Changes node by node that leave the kinds alone: as XLA gives new buffers to a graph."""
    program = compile_c('''
        #include "tests/e2e/programs/work.h"
        int main(void)
        {
            CUgraph graph;
            CUgraphExec exec;
            CUgraphNode kernel, copy, set;
            CUdeviceptr a, b;
            work_start();
            CUDA_KERNEL_NODE_PARAMS k = {.func = work_short, .gridDimX = 3, .gridDimY = 1, .gridDimZ = 1,
                                         .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1};
            CHECK(cuMemAlloc(&a, 65536));
            CHECK(cuMemAlloc(&b, 65536));
            CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = b, .WidthInBytes = 4096, .Height = 1, .Depth = 1};
            CUDA_MEMSET_NODE_PARAMS s = {.dst = a, .elementSize = 4, .width = 256, .height = 1};
            CHECK(cuGraphCreate(&graph, 0));
            CHECK(cuGraphAddKernelNode(&kernel, graph, NULL, 0, &k));
            CHECK(cuGraphAddKernelNode(&kernel, graph, NULL, 0, &k));
            CHECK(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &c, work_context));
            CHECK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &s, work_context));
            CHECK(cuGraphInstantiate(&exec, graph, 0));
            for (int i = 0; i < 25; i++) {
                CHECK(cuGraphLaunch(exec, NULL));
                CHECK(cuCtxSynchronize());
                CHECK(cuGraphExecKernelNodeSetParams(exec, kernel, &k));
                c.srcDevice = a + 4096;
                CHECK(cuGraphExecMemcpyNodeSetParams(exec, copy, &c, work_context));
            }
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1')
    r = graphs(program=program)
    assert r.truth['totals']['graph_kernels'] == 50
    inside = r.report['in_graphs']
    assert inside == {'launches': 25, 'launches_known': 25, 'launches_in_part': 0, 'kernels': 50, 'copies': 25,
                      'copy_bytes': 25 * 4096, 'sets': 25, 'others': 0}
    g, = r.report['graphs']
    assert (g['nodes'], g['kernel_nodes'], g['copy_nodes'], g['set_nodes']) == (4, 2, 1, 1)
    assert g['kernels'][0]['grid'] == [3, 1, 1] and g['kernels'][0]['launches'] == 50


def test_new_buffers_of_a_child_graph(graphs, compile_c):
    """XLA captures what a library launches again for each launch of the graph, and puts it in the place of a child graph. While
    it is the same, what the executable holds is known; from then on that it is not, nobody knows."""
    program = compile_c('''
        #include "tests/e2e/programs/work.h"
        int main(int argc, char **argv)
        {
            static const char image[] = "simcuda 1\\nkernel five fixed:5000\\nkernel eleven fixed:11000\\n";
            int other = atoi(argv[1]);
            CUfunction f[2];
            CUgraph graph, child;
            CUgraphExec exec;
            CUgraphNode node;
            CUmodule module;
            CUstream s;
            work_start();
            CHECK(cuModuleLoadData(&module, image));
            CHECK(cuModuleGetFunction(&f[0], module, "five"));
            CHECK(cuModuleGetFunction(&f[1], module, "eleven"));
            CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
            for (int i = 0; i < 100; i++) {
                CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
                for (int k = 0; k < 3; k++)
                    CHECK(work_launch(f[other && i >= other], s));
                CHECK(cuStreamEndCapture(s, &child));
                if (!i) {
                    CHECK(cuGraphCreate(&graph, 0));
                    CHECK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
                    CHECK(cuGraphInstantiate(&exec, graph, 0));
                } else {
                    CHECK(cuGraphExecChildGraphNodeSetParams(exec, node, child));
                }
                CHECK(cuGraphDestroy(child));
                CHECK(cuGraphLaunch(exec, s));
                CHECK(cuStreamSynchronize(s));
            }
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1')
    r = graphs('0', program=program)
    assert r.truth['totals']['graph_kernels'] == 300
    assert (r.report['in_graphs']['launches_known'], in_graphs(r)[0]) == (100, {'five': 300})
    assert r.truth['apis']['cuGraphGetNodes']['calls'] < 60 # not at each of them
    # Seen among the first, which are all read; and among the later ones, of which every sixteenth is.
    for other, known in (5, [5]), (40, range(40, 57)):
        assert graphs(str(other), program=program).report['in_graphs']['launches_known'] in known


def test_an_expected_kernel_put_there_node_by_node(graphs):
    """Nobody launched or captured it; the graphs ran it."""
    r = graphs('nodes', 5)
    p = subprocess.run([REPORTER, 'report', '-f', 'json', '--expect-kernel', 'eleven', r.recording], stdout=subprocess.PIPE)
    found, = json.loads(p.stdout)['expect_kernels']
    assert p.returncode == 0 and found['ran'] and found['note'] == 'graphs ran it 30 times'


def test_off_reads_nothing(graphs):
    r = graphs('capture', 3, CUDASPY_GPU='off')
    assert r.report['in_graphs'] is None
    assert all(k['graph_launches'] is None for k in r.report['kernels'])
    assert all(g['nodes'] is None and g['kernels'] == [] for g in r.report['graphs'])
    assert 'cuGraphKernelNodeGetParams' not in r.truth['apis']


@pytest.mark.parametrize('failure', ['cuGraphGetNodes:1', 'cuGraphKernelNodeGetParams:1', 'cuGraphNodeGetType:999'])
def test_a_driver_that_does_not_tell(graphs, failure):
    """What is not known is said, and nothing else happens."""
    r = graphs('kept', 20, SIM_FAIL=failure)
    inside = r.report['in_graphs']
    assert r.report['totals']['graph_launches'] == 40 and r.report['totals']['failed'] == 0
    assert inside is None or inside['launches_in_part'] + inside['launches'] - inside['launches_known'] > 0


def test_what_graphs_allocate_is_no_allocation(graphs, compile_c):
    """An allocation and a free that are captured, three launches of them; and one of each that are not."""
    program = compile_c('''
        #include "tests/e2e/programs/work.h"
        int main(void)
        {
            CUstream stream;
            CUgraph graph;
            CUgraphExec exec;
            CUdeviceptr p;
            work_start();
            CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
            CHECK(cuMemAllocAsync(&p, 4096, stream));
            CHECK(work_launch(work_short, stream));
            CHECK(cuMemFreeAsync(p, stream));
            CHECK(cuStreamEndCapture(stream, &graph));
            CHECK(cuGraphInstantiate(&exec, graph, 0));
            for (int i = 0; i < 3; i++)
                CHECK(cuGraphLaunch(exec, stream));
            CHECK(cuMemAllocAsync(&p, 1 << 20, stream));
            CHECK(cuMemFreeAsync(p, stream));
            CHECK(cuStreamSynchronize(stream));
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1')
    r = graphs(program=program, CUDASPY_GPU='off')
    totals = r.report['totals']
    assert (totals['allocs'], totals['allocated_bytes'], totals['freed_bytes']) == (2, 1 << 20, 1 << 20)
    assert totals['captured'] == r.truth['totals']['captured'] == 1
    g, = graphs(program=program).report['graphs']
    assert (g['nodes'], g['kernel_nodes'], g['other_nodes']) == (3, 1, 2)
