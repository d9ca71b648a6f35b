# SPDX-License-Identifier: Apache-2.0
"""CUDASPY_GPU=sample on the simulated CUDA: graphs, sampled by their content, and the sampler's own (tests/e2e/sampled.py)."""
import pytest

from sampled import COSTS, NULL_NS, REMADE, TURNS, driver_without, own_calls, sample  # noqa: F401 (fixtures)


def test_graph_launches(sample):
    """The first launch of all in the context goes into a graph: what is launched then is sampled all the same."""
    r, s = sample('graphs', 300)
    assert s.count('graph') and s.count('kernel', kernel='k1')
    assert s.count('kernel', kernel='k0') == 0
    assert r.truth['totals']['captured'] == r.report['totals']['captured'] == 10
    assert r.truth['totals']['graph_kernels'] == 10 * 300
    assert s.trouble['SAMPLING_OFF'] == 0


def test_graphs_are_as_fast_as_without(sample):
    """The driver begins each kernel of a graph later once a kernel was launched by itself behind a graph of that stream."""
    r, s = sample('replays', 2000, SIM_GRAPH_MIXED_NS=200, SIM_GAP_NS=0, SIM_COST=1, CUDASPY_BUDGET=5)
    assert s.count('graph') > 20 and s.count('copy') > 5 and s.count('null') > 5
    assert graphs_sampled(s) == pytest.approx([10 * COSTS['k0'] + 9 * 200], abs=1)
    assert r.truth['totals']['graph_launches'] == 2000


def test_streams_do_not_wait_for_each_other(sample):
    """A graph is launched again only when it is done: launches of one wait for one another, wherever they are."""
    r, s = sample('crossing', 6000, CUDASPY_BUDGET=10)
    assert r.truth['totals']['own_waits'] == 0
    assert s.count('graph', 'idle') > 20 and s.count('kernel') > 20
    assert s.trouble['SAMPLES_DROPPED'] > 0, 'two threads on one stream'
    assert own_calls(r)['cuGraphInstantiateWithFlags'] <= 128, 'two graphs a pair'


def test_a_program_of_graphs_begins_with_what_a_pair_costs(sample):
    """The context's first launch is a graph: the empty kernel is one too, and there before the pair opens."""
    _, s = sample('replays', 5)
    assert s.count('null') >= 1


def test_a_context_takes_our_graphs_along(sample):
    """They are no part of a context for the driver: those under way are freed when they are done."""
    r, _ = sample('graph_contexts', 20, CUDASPY_BUDGET=50)
    ours = own_calls(r)
    assert ours['cuGraphInstantiateWithFlags'] > 40
    assert ours['cuGraphExecDestroy'] == ours['cuGraphInstantiateWithFlags']


def test_a_driver_that_takes_no_graphs_of_ours(sample, driver_without):
    r, s = sample('replays', 2000, SIM_COST=1, SIM_GAP_NS=0, CUDASPY_BUDGET=5,
                  sim=driver_without('cuGraphExecKernelNodeSetParams_v2'))
    assert s.count('graph') > 20 and s.trouble['SAMPLING_OFF'] == 0
    assert own_calls(r)['cuLaunchKernel'] > 20 and 'cuGraphLaunch' not in own_calls(r)


def graphs_sampled(s, regime='idle'):
    """Of each class of graphs that has samples: its mean without what the pair costs."""
    offset = s.mean('null', regime) - NULL_NS
    return sorted(c[regime + '_ns'] / c[regime] - offset for c in s.of('graph') if c[regime])


@pytest.mark.parametrize('how', ['capture', 'nodes', 'clone', 'child', 'kept'])
def test_graphs_made_anew_for_each_launch(sample, how):
    """Those of equal content are one class, two contents are two; the report gives each graph its part of the time."""
    r, s = sample(how, 800, program=REMADE, SIM_GAP_NS=0, SIM_GRAPH_GAP_NS=0, SIM_COST=1)
    assert graphs_sampled(s) == pytest.approx([20000, 66000], rel=0.01)
    assert min(c['idle'] for c in s.of('graph')) > 10
    assert r.report['totals']['graph_launches'] == r.truth['totals']['graph_launches'] == 1600
    assert r.report['gpu']['busy_ns'] == pytest.approx(r.truth['devices'][0]['busy_ns'], rel=0.02)
    assert {round(g['gpu_mean_ns'], -3) for g in r.report['graphs']} == {20000, 66000}
    assert sum(g['gpu_total_ns'] for g in r.report['graphs']) == pytest.approx(800 * 86000, rel=0.02)
    assert r.report['overhead']['graphs_ns'] > 0, 'the clock moves on when it is read'


def test_graphs_that_threads_launch_in_turn(sample):
    """Of twelve threads each launches the rarest graph once or twice: all three have their samples, and the right means."""
    r, s = sample(12, 700, program=TURNS, SIM_GAP_NS=0, SIM_GRAPH_GAP_NS=0)
    graphs = {g['kernels'][0]['name']: g for g in r.report['graphs']}
    assert [graphs[k]['launches'] for k in ('five', 'eleven', 'forty')] == [700, 100, 20]
    assert graphs['five']['samples'] > 50 and graphs['eleven']['samples'] > 5 and graphs['forty']['samples'] > 0
    assert [graphs[k]['gpu_mean_ns'] for k in ('five', 'eleven', 'forty')] == pytest.approx([20000, 66000, 80000], rel=0.02)


def test_more_graphs_made_than_the_table_has_rows(sample):
    """Of those that found no place in it the time is known all the same."""
    r, s = sample('kept', 4500, program=REMADE, SIM_GAP_NS=0, SIM_GRAPH_GAP_NS=0, SIM_COST=1)
    assert s.trouble['GRAPHS_FULL'] == 9000 - 8192
    assert graphs_sampled(s) == pytest.approx([20000, 66000], rel=0.01)
    assert r.report['gpu']['busy_ns'] == pytest.approx(r.truth['devices'][0]['busy_ns'], rel=0.02)


def test_no_graph_at_the_first_launch_of_its_content(sample):
    r, s = sample('distinct', 200, program=REMADE)
    assert r.report['totals']['graph_launches'] == 400
    assert s.count('null') and s.count('graph') == 0


def test_a_graph_that_is_changed_is_none_of_its_first_class(sample):
    """Four kernels of 5 us; after an update four of 11 us, after a change of one node one of them."""
    for how, other in (('update', 44000), ('params', 26000)):
        _, s = sample(how, 300, program=REMADE, SIM_GAP_NS=0, SIM_GRAPH_GAP_NS=0, SIM_COST=1)
        assert graphs_sampled(s) == pytest.approx([20000, other], rel=0.01), how


@pytest.mark.parametrize('failure', ['cuGraphGetNodes:1', 'cuGraphGetEdges:1', 'cuGraphKernelNodeGetParams:1',
                                     'cuGraphNodeGetType:999'])
def test_a_content_that_cannot_be_told(sample, failure):
    """Each executable is a class of its own then, and nothing else happens."""
    r, s = sample('kept', 50, program=REMADE, SIM_FAIL=failure)
    assert s.count('graph') == 0 and s.count('null')
    assert s.trouble['SAMPLING_OFF'] == 0 and r.report['totals']['failed'] == 0
    _, s = sample('graphs', 300, SIM_FAIL=failure)
    assert s.count('graph')


@pytest.mark.parametrize('name', ['graph_every_step', 'graph_short_lived'])
def test_samples_that_make_a_graph_for_a_launch_or_two(sample, name):
    """What lies between the kernels of a graph is part of its time: here nothing."""
    r, s = sample(program=name, SIM_COST=1, SIM_GAP_NS=0, SIM_GRAPH_GAP_NS=0)
    gpu, truth = r.report['gpu'], r.truth['devices'][0]['busy_ns']
    assert len(s.of('graph')) == 1
    assert gpu['busy_ns'] == pytest.approx(truth, rel=0.02)
    assert gpu['busy_low_ns'] < truth < gpu['busy_high_ns']


@pytest.mark.parametrize('launch_ns', [70000, 120000, 330000])
def test_a_graph_whose_launch_takes_long(sample, launch_ns):
    """Graphs of some hundred nodes, as XLA makes them: nine of ten of their samples were lost, the stall was over too soon."""
    r, s = sample('graphs', 600, SIM_COST=1, SIM_GRAPH_LAUNCH_NS=launch_ns, CUDASPY_BUDGET=20)
    graph, = [w for w in r.report['works'] if w['kind'] == 'graph']
    assert graph['samples'] >= 8, graph
    assert graph['low_ns'] <= 31800 <= graph['high_ns'], graph  # ten kernels, and what lies between them
