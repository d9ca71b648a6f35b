# SPDX-License-Identifier: Apache-2.0
"""transformers: a recommender is evaluated: a small BERT reads what each customer bought, all articles of the shop are scored by
that, and it is noted at which rank the article stands that was bought next, which the model has not seen.

Wrong: the ranks are found by sorting all scores, and then the order that comes of it (argsort of argsort). The GPU is at work
throughout (gpu-bound).
fix: the rank is how many articles have a better score than the one that was bought; nothing is sorted (gpu-bound).
fix2: the scores are sorted once, and the article is looked for in the order (gpu-bound).
useless: how good the ranks are is not read every 20 batches, but once behind the last one.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, transformers = fixable.load_torch("transformers")

CUSTOMERS, ARTICLES, BOUGHT, WIDTH, LAYERS, SETS, SHOWN = 160, 100000, 48, 128, 2, 5, 20


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    config = transformers.BertConfig(vocab_size=ARTICLES, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=4,
                                     intermediate_size=4 * WIDTH, max_position_embeddings=BOUGHT)
    model = transformers.BertModel(config, add_pooling_layer=False).cuda().half().eval()
    articles = model.get_input_embeddings().weight.float()
    histories = torch.randint(0, ARTICLES, (SETS, CUSTOMERS, BOUGHT), device="cuda")
    likely = histories[:, :, -1:] + torch.randint(0, 50, (SETS, CUSTOMERS, 1), device="cuda")
    held = likely.remainder(ARTICLES)
    hits, gain, middle = (torch.zeros((), device="cuda") for _ in range(3))
    turn, told = [0], []

    def scores_of(history):
        seen = model(input_ids=history).last_hidden_state[:, -1].float()
        scores = seen @ articles.t()
        return scores.scatter_(1, history, -torch.inf)  # what one has is not shown again

    def ranks_of(scores, wanted):
        if variant == "fix":
            return (scores > scores.gather(1, wanted)).sum(dim=1)
        order = scores.argsort(dim=1, descending=True)
        if variant == "fix2":
            return (order == wanted).int().argmax(dim=1)
        return order.argsort(dim=1).gather(1, wanted).squeeze(1)

    @torch.no_grad()
    def step():
        history, wanted = histories[turn[0] % SETS], held[turn[0] % SETS]
        turn[0] += 1
        ranks = ranks_of(scores_of(history), wanted).float()
        shown = ranks < SHOWN
        hits.mul_(0.9).add_(shown.float().mean(), alpha=0.1)
        gain.mul_(0.9).add_((1.0 / (ranks + 2.0).log2()).mean(), alpha=0.1)
        middle.mul_(0.9).add_(ranks.mean() / ARTICLES, alpha=0.1)
        if turn[0] % LOOK_EVERY == 0 and variant != "useless":
            told[:] = torch.stack((hits, gain, middle)).tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: [float(hits), float(gain), float(middle)])


run.main(make)
