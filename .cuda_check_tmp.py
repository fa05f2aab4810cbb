import sys, os, warnings, time
sys.path[:0]=['src','tests/live','tests']
import torch
os.environ['TRAINDX_DEBUG']='1'
from pathlib import Path
import tempfile
from live_scripts import run, facts_of, present
from traindx.live import hub as H
S = """
torch.set_default_device('cuda')
X, y = torch.randn(2048, 6), torch.randint(0, 3, (2048,))
V, w = torch.randn(256, 6), torch.randint(0, 3, (256,))
{data}
net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
import random
torch.cuda.set_sync_debug_mode({mode})
for epoch in range(6):
    net.train()
    for i in range(0, 2048, 64):
        out, t = net(X[i:i + 64]), y[i:i + 64]
        loss = {loss}
        opt.zero_grad(); loss.backward(); opt.step()
    {ev}
    with torch.no_grad():
        for i in range(0, 256, 64): F.cross_entropy(net(V[i:i+64]), w[i:i+64])
torch.cuda.set_sync_debug_mode(0)
print(sum(p.double().sum().item() for p in net.state_dict().values()).hex())
"""
def sc(data='pass',loss='F.cross_entropy(out, t)',mode=0,ev='net.eval()'): return S.format(data=data,loss=loss,mode=mode,ev=ev)
MINE={'inputs-unscaled','targets-unscaled','nonfinite-inputs','outlier-batch','data-in-order','tiny-batches','trained-in-eval-mode','evaluated-in-train-mode','val-inputs-differ','val-labels-differ','validation-seen-in-training','sees-the-future','nan-from-log','nan-from-division','nan-from-half-overflow','nan-from-growth'}
def f(name,s,b=1.0):
    with tempfile.TemporaryDirectory() as d:
        try: fs=facts_of(s,Path(d),b); print(name,b,present(fs)&MINE,[ (k,v['evidence'][:90]) for k,v in fs.items() if v.get('present') and k in MINE])
        except Exception as e: import traceback; print(name,'FAILED'); traceback.print_exc()
for b in (1.0,0.0):
    f('healthy',sc(),b)
    f('nan data',sc(data="X[700,2]=float('nan')"),b)
    f('eval forgotten',sc(ev='pass'),b)
    f('val scaled',sc(data='V=V/255'),b)
    f('leak',sc(data='V[::2]=X[:128]'),b)
    f('log',sc(loss="-torch.log(out.softmax(1) * (t > 0).float().unsqueeze(1)).mean()"),b)
    f('half',sc(loss="(out.half()*1000).pow(2).mean()"),b)
a=run(sc(),None)
with tempfile.TemporaryDirectory() as d: b=run(sc(),Path(d)/'r.traindx')
print('bit identical', a==b)
# syncs outside deep steps: only deep steps in the beginning, then sync is an error
H.FIRST_DEEP=3
s=sc(mode=0).replace("        opt.zero_grad(); loss.backward(); opt.step()\n","        opt.zero_grad(); loss.backward(); opt.step()\n        n = globals().setdefault('n', 0) + 1; globals()['n'] = n\n        if n == 6: torch.cuda.set_sync_debug_mode(1)\n")
with tempfile.TemporaryDirectory() as d, warnings.catch_warnings(record=True) as ws:
    warnings.simplefilter('always')
    import traceback, collections
    C=collections.Counter()
    def show(m,c,fn,l,*a,**k):
        C[tuple(f'{Path(x.filename).name}:{x.lineno}' for x in traceback.extract_stack() if 'traindx' in x.filename)[-2:]]+=1
    warnings.showwarning=show
    run(s,Path(d)/'r.traindx',0.0)
for k,v in C.most_common(12): print('sync',v,k)
