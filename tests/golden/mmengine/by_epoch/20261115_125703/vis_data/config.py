default_hooks = dict(
    checkpoint=dict(interval=-1, type='CheckpointHook'),
    logger=dict(interval=5, log_metric_by_epoch=True, type='LoggerHook'))
experiment_name = 'points_by_epoch'
log_processor = dict(by_epoch=True, window_size=5)
model = dict(num_classes=3, type='Classifier')
optim_wrapper = dict(
    clip_grad=dict(max_norm=5.0),
    optimizer=dict(lr=0.02, type='AdamW', weight_decay=0.01))
param_scheduler = [
    dict(
        T_max=5,
        by_epoch=True,
        convert_to_iter_based=True,
        type='CosineAnnealingLR'),
]
randomness = dict(seed=0)
train_cfg = dict(by_epoch=True, max_epochs=5, val_interval=1)
train_dataloader = dict(
    batch_size=8,
    collate_fn=dict(type='default_collate'),
    dataset=dict(count=160, seed=0, type='Points'),
    num_workers=0,
    sampler=dict(shuffle=True, type='DefaultSampler'))
val_cfg = dict()
val_dataloader = dict(
    batch_size=8,
    collate_fn=dict(type='default_collate'),
    dataset=dict(count=40, seed=1, type='Points'),
    num_workers=0,
    sampler=dict(shuffle=False, type='DefaultSampler'))
val_evaluator = dict(type='Accuracy')
work_dir = '/data'
